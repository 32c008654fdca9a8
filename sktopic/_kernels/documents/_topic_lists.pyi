import numpy as np

# A topic of a document, and its clumps there.
TOPIC_CLUMPS: np.dtype
# The same with its tables.
TOPIC_TABLES: np.dtype

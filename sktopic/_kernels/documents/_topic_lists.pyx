"""Dtypes of the records in lists of topics."""

import numpy as np

TOPIC_CLUMPS = np.dtype([("topic", np.int32), ("clumps", np.int32)])
TOPIC_TABLES = np.dtype([("topic", np.int32), ("clumps", np.int32), ("tables", np.int32)])

"""Looking at topics: their words and documents as tables, plots, and the hand-over to pyLDAvis."""

from sktopic.inspection._plots import plot_n_components, plot_scores, plot_topics
from sktopic.inspection._pyldavis import pyldavis_data
from sktopic.inspection._tables import top_documents, top_words

__all__ = [
    "plot_n_components",
    "plot_scores",
    "plot_topics",
    "pyldavis_data",
    "top_documents",
    "top_words",
]

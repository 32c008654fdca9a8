"""
Topics whose words depend on the document
=========================================

A topic model assumes that a topic has the same words in all documents. Real
texts differ: :func:`~sktopic.metrics.posterior_predictive_check` measures by
how much for each topic.
"""

# %%
# Documents
# ---------
# Each token gets a topic, drawn from its posterior. For each topic, the mutual
# information of words and documents is compared with that of words drawn from
# the topic. Dots are observed values and bars are those of drawn words, both
# minus the mean of the drawn. Documents repeat their words, so almost all dots
# are to the right of their bars. Topics on top may be mixtures of themes, or
# have words of few documents. The topic at the bottom is about documents that
# follow a template, which are more alike than drawn words.

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.datasets import load_docstrings
from sktopic.inspection import plot_posterior_predictive_check
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import posterior_predictive_check

docs = load_docstrings(min_words=50)
pipe = make_pipeline(
    CountVectorizer(
        token_pattern="[a-z]{3,}", min_df=10, max_df=0.1, stop_words="english"
    ),
    OnlineEMLDA(n_components=20, random_state=0),
)
pipe.fit(docs.data)
check = posterior_predictive_check(pipe, docs.data, n_replications=40)
plot_posterior_predictive_check(check)

# %%
# Groups of documents
# -------------------
# With groups, here the packages, the check tells which topics have different
# words in different groups.

packages = [docs.target_names[number] for number in docs.target]
check = posterior_predictive_check(
    pipe, docs.data, groups=packages, n_replications=40
)
plot_posterior_predictive_check(check)

# %%
# The words of one topic
# ----------------------
# Words on top are in fewer packages than other words of the topic.

topic = int(np.nanargmax(check.deviances))
plot_posterior_predictive_check(check, words_of=topic)

# %%
# The numbers
# -----------

# sphinx_gallery_capture_repr_block = ("_repr_html_",)
check.table.nlargest(3, "deviance").round(3)

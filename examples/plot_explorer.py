"""
Exploring topics in a browser
=============================

A list of words says little of a topic: one wants to see the documents behind it, which topics are like it,
and where it occurs. :func:`~sktopic.inspection.explore` makes one page of all that, which a notebook shows
and ``save`` writes to a file that can be sent to others.
"""

# %%
# A model of texts
# ----------------
# The documents are the docstrings of numpy, scipy and scikit-learn; the subpackage that each belongs to is
# its group.

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.datasets import load_docstrings
from sktopic.inspection import explore, name_topics
from sktopic.lda import OnlineEMLDA

docs = load_docstrings()
labels = [docs.target_names[number] for number in docs.target]
pipe = make_pipeline(
    CountVectorizer(min_df=5, stop_words="english"),
    OnlineEMLDA(n_components=40, random_state=0),
)
pipe.fit(docs.data)

# %%
# Topics without names are called by their most relevant words. The one in which "polynomial" is most probable
# gets a name here, which is then used wherever topics are listed.

polynomial = pipe[0].vocabulary_["polynomial"]
name_topics(pipe, {pipe[-1].components_[:, polynomial].argmax(): "polynomials"})

# %%
# The page
# --------
# Choose a topic on the map, in the list, or with the arrow keys; ``/`` leads to the search, which knows
# words, topics and the documents of the page. A click on a word shows on the map in which topics it is used.
# In the documents, each word has the colour of the topic that it is most probably of; a topic of the legend
# can be singled out. With ``dates``, there is also a panel for the course of the topic over time.
#
# Nothing is loaded from anywhere: ``explore(...).save("topics.html")`` writes a file that works without a
# network and without this library.

# sphinx_gallery_thumbnail_path = "explorer.png"
# sphinx_gallery_capture_repr_block = ("_repr_html_",)
explore(pipe, docs.data, texts=docs.data, groups=labels, title="Docstrings", n_documents=5)

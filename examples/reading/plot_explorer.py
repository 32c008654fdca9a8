"""
Explore topics in the browser
=============================

A list of words says little of a topic. Which documents are behind it, which
topics are like it, where does it occur? :func:`~sktopic.inspection.explore`
makes one page of all that: a map, words, documents and a search. A notebook
shows it; ``save`` writes it to a file that can be sent to others.
"""

# %%
# A model of texts
# ----------------
# The documents are the docstrings of numpy, scipy and scikit-learn that
# have fifty words or more; the subpackage that each belongs to is its group.

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.datasets import load_docstrings
from sktopic.inspection import explore, name_topics
from sktopic.lda import OnlineEMLDA

docs = load_docstrings(min_words=50)
packages = [docs.target_names[number] for number in docs.target]
pipe = make_pipeline(
    CountVectorizer(min_df=5, max_df=0.3, stop_words="english"),
    OnlineEMLDA(n_components=30, random_state=0),
)
pipe.fit(docs.data)

# %%
# Topics without names are called by their most relevant words. The one in
# which "polynomial" is most probable gets a name here, which is then used
# wherever topics are listed.

polynomial = pipe[0].vocabulary_["polynomial"]
topic = pipe[-1].components_[:, polynomial].argmax()
name_topics(pipe, {topic: "polynomials"})

# %%
# The page
# --------
# The page opens on a coherent topic. Choose another by its circle or label on
# the map, in the list, or with the arrow keys. ``/`` leads to the search,
# which knows words, topics and documents. A click on a word shows on the map
# in which topics it is used. In the documents, each word has the color of the
# topic that it is most probably of. With ``dates``, there is also a panel for
# the course of a topic over time.
#
# Nothing is loaded from anywhere: ``page.save("topics.html")`` writes a file
# that works without a network and without this library.

# sphinx_gallery_thumbnail_path = "pictures/explorer-light.png"
# sphinx_gallery_capture_repr_block = ("_repr_html_",)
page = explore(
    pipe,
    docs.data,
    texts=docs.data,
    groups=packages,
    title="Docstrings",
    n_documents=5,
)
page

"""
How many topics? Try some numbers
=================================

Which ``n_components`` is right? Try several on documents that are held out in
turn: :func:`~sktopic.model_selection.topic_number_curve` shows score,
coherence and stability of each number in one picture. The held-out score says
how many topics are needed at least; take the smallest number that does as well
as the best. :class:`~sklearn.model_selection.GridSearchCV` works too.
"""

# %%
# Documents with twenty topics
# ----------------------------
# The corpus is drawn from a known model, so that we can tell whether the
# number is found.

import matplotlib.pyplot as plt
from sklearn.model_selection import GridSearchCV

from sktopic.datasets import make_lda_documents
from sktopic.hdp import DirectAssignmentHDP
from sktopic.lda import OnlineEMLDA
from sktopic.model_selection import topic_number_curve

corpus = make_lda_documents(
    n_samples=600,
    n_features=400,
    n_components=20,
    mean_length=80,
    doc_topic_prior=0.1,
    random_state=0,
)
X = corpus.data

# %%
# The curve
# ---------
# Each number is tried in the same three folds; beside it stands a model that
# finds a number itself. The score rises until there are topics enough. A few
# more do no harm: one topic may cover two true ones, and spare topics make
# room for both. So the score gives a lower limit with confidence, and an upper
# one less so. Coherence and stability, which spare topics lower, point to 20
# here; with texts it is seldom as clear.

curve = topic_number_curve(
    OnlineEMLDA(),
    X,
    n_components=[5, 10, 20, 30],
    cv=3,
    references=[DirectAssignmentHDP(40)],
)
print("highest score:", curve.best)
print("smallest number that is as good:", curve.one_standard_error)
axes = curve.plot()
for ax, title in zip(axes, ("Score", "Coherence", "Stability", "Time")):
    ax.set_title(title)
plt.show()

# %%
# The same as a table:

table = curve.table[["model", "score", "score_se", "coherence", "stability"]]
# sphinx_gallery_capture_repr_block = ("_repr_html_",)
table.set_index("model").round(3)

# %%
# Other parameters along with it
# ------------------------------
# ``score`` is a held-out likelihood, so a grid search works as it would for a
# classifier.

grid = {"n_components": [20, 30], "learning_decay": [0.5, 0.7]}
search = GridSearchCV(OnlineEMLDA(random_state=0), grid, cv=2).fit(X)
print("best parameters:", search.best_params_)

"""
Choosing the number of topics
=============================

:func:`~sktopic.model_selection.topic_number_curve` tries numbers of topics on documents held out in turn,
beside models that find a number themselves. ``score`` is a held-out likelihood too, so
:class:`~sklearn.model_selection.GridSearchCV` chooses other parameters along with it as it would those of a
classifier.
"""

# %%
# The corpus is drawn from a known model, so that we can tell whether the number is found: 20 topics over 400
# words.

from sklearn.model_selection import GridSearchCV

from sktopic.datasets import make_lda_documents
from sktopic.hdp import DirectAssignmentHDP
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion
from sktopic.model_selection import topic_number_curve
from sktopic.moment_matching import DegenerateDirichletLDA

corpus = make_lda_documents(
    n_samples=1200, n_features=400, n_components=20, mean_length=80, doc_topic_prior=0.1, random_state=0
)
X, X_test = corpus.data[:1000], corpus.data[1000:]

# %%
# The curve
# ---------
# Each number is tried in the same three folds. The score rises until there are topics enough, and a few more
# than the documents were drawn from do no harm: training finds a local optimum, in which one topic may cover
# two true ones, and spare topics make room for both. So the score gives a lower limit with confidence, and an
# upper one less so; the rule of one standard error takes the smallest number that does as well as the best.
# Stability, which spare topics lower, is highest at 20 here. With texts it is seldom as clear.

curve = topic_number_curve(
    OnlineEMLDA(),
    X,
    n_components=[5, 10, 15, 20, 30, 40],
    cv=3,
    references=[DirectAssignmentHDP(40), DegenerateDirichletLDA(80)],
)
print(curve.table.round(3).to_string(index=False))
fig = curve.plot()

# %%
# Other parameters along with it
# ------------------------------
# A grid over the number of topics and the decay of the step size, with the estimator's own score.

grid = {"n_components": [20, 30], "learning_decay": [0.5, 0.7]}
search = GridSearchCV(OnlineEMLDA(random_state=0), grid, cv=3).fit(X)
print("best parameters:", search.best_params_)
print(f"score of the best model on new documents: {search.score(X_test):.3f}")
truth = document_completion(corpus.components, X_test, doc_topic_prior=corpus.doc_topic_prior)
print(f"score of the true model:                  {truth:.3f}")

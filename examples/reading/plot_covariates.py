"""
Does a topic depend on year or section?
=======================================

Short documents of a newspaper have a year and a section. This page asks which
topics depend on these, in two ways: a regression of topic proportions after
training, and a model whose prior depends on covariates. The documents are
drawn from known topics, so that the answers can be checked.
"""

# %%
# Documents of twelve years and two sections
# ------------------------------------------
# The prior of a topic is multiplied by ``exp(effect)`` for each decade and in
# the section "opinion". Documents have about 15 words.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse as sp

from sktopic.datasets import make_lda_documents
from sktopic.inspection import estimate_effect, plot_effects
from sktopic.lda import DMRLDA, OnlineEMLDA
from sktopic.metrics import match_topics

planted = pd.DataFrame(
    {"decades": [1.5, -1.5, 0, 0, 0], "opinion": [0, 0, 1.2, -1.2, 0]}
)
topics = np.random.default_rng(0).dirichlet(np.full(300, 0.05), 5)
groups = [(year / 10, opinion) for year in range(-6, 6) for opinion in (0, 1)]
parts = [
    make_lda_documents(
        120,
        components=topics,
        mean_length=15,
        doc_topic_prior=0.2 * np.exp(planted.to_numpy() @ group),
        random_state=number,
    ).data
    for number, group in enumerate(groups)
]
X = sp.vstack(parts, format="csr")
D = pd.DataFrame(np.repeat(groups, 120, axis=0), columns=planted.columns)

# %%
# A regression after training
# ---------------------------
# The model does not know the covariates. An effect is the difference of the
# proportion: between the sections, or for one decade.

lda = OnlineEMLDA(n_components=5, max_iter=20, random_state=0).fit(X)
effects = estimate_effect(lda, X, D)
ax = plot_effects(effects, "opinion")
ax.set_title("Effect of the section on each topic", loc="left")
plt.show()

# %%
# Covariates in the prior
# -----------------------
# :class:`~sktopic.lda.DMRLDA` estimates the planted effects themselves. Bars
# are 95 percent intervals, crosses are the planted effects.

# More sweeps than by default, for the intervals
dmr = DMRLDA(5, doc_burn_in=10, doc_sweeps=20, max_iter=20, random_state=0)
dmr.fit(X, covariates=D)
order = match_topics(topics, dmr).second
fig, axes = plt.subplots(
    1, 2, figsize=(7, 2.6), sharey=True, layout="constrained"
)
for number, (ax, name) in enumerate(zip(axes, D.columns)):
    found = dmr.covariate_effects_[order, number]
    reach = 1.96 * dmr.covariate_effects_stderr_[order, number]
    ax.errorbar(found, range(5), xerr=reach, fmt="o", markersize=4)
    ax.plot(planted[name], range(5), "kx", markersize=8)
    ax.axvline(0, color="0.7", linewidth=0.8)
    ax.set_title(name, loc="left")
axes[0].set(yticks=range(5), ylabel="topic")
fig.suptitle("Effects on the logarithm of the prior")
plt.show()

# %%
# Effects on proportions
# ----------------------
# A prior that ignores covariates shrinks the effects in short documents. With
# ``model_covariates``, proportions are drawn given the covariates.

prior = np.exp(D @ planted.to_numpy().T)
design = np.column_stack([np.ones(len(D)), D])
shares = prior.div(prior.sum(axis=1), axis=0)
_, _, truth = np.linalg.lstsq(design, shares, rcond=None)[0]
# sphinx_gallery_capture_repr_block = ("_repr_html_",)
given = estimate_effect(dmr, X, D, model_covariates=D)


def effects_of_opinion(table, model):
    """In the order of the planted topics."""
    rows = table[table["covariate"] == "opinion"]
    return rows["effect"].to_numpy()[match_topics(topics, model).second]


pd.DataFrame(
    {
        "true effect of opinion": truth,
        "prior without covariates": effects_of_opinion(effects, lda),
        "prior with covariates": effects_of_opinion(given, dmr),
    }
).round(3)

"""What draws of proportions are worth: coverage of intervals from them and from posterior means.

    python benchmarks/uncertainty.py

OnlineEMLDA with 5 topics learns from 4000 synthetic documents of about 100 words. Then, again and again, 300
new documents, whose proportions depend on a covariate, are asked three questions:

- the slope of the covariate in a regression of the first topic's proportion;
- its coefficient in a regression of a response on four of the proportions;
- the share of documents of which it is more than half.

Answers are from the true proportions, from those of `transform` in their place, and from 20 draws of
`sample_proportions`, each analyzed alone and pooled by Rubin's rules. "Estimate" is the mean over
replicates, as a share of what is true; so is the width of the intervals of 95 percent. "Coverage" is the
share of these that contain what is true. Replicates are kept in parts of a hundred.
"""

from functools import cache
from itertools import product

import numpy as np
from _study import Study, new_parser
from scipy.optimize import linear_sum_assignment
from scipy.stats import t

from sktopic.lda import OnlineEMLDA

N_TOPICS, N_WORDS, N_DOCUMENTS, N_DRAWS, N_AT_ONCE = 5, 200, 300, 20, 100  # and replicates
LENGTHS = 10, 20, 50
PRIOR = 0.3
PULL = np.array([0.5, -0.5, 0.0, 0.0, 0.0])
EFFECTS = np.array([2.0, -1.0, 0.0, 0.5, 0.0])
QUESTIONS = ["proportion as response", "proportion as predictor", "share of documents"]
ANSWERS = ["true", "means", "draws"]
HEAD = ["question", "words a document", "proportions", "estimate", "width of the interval", "coverage"]


def least_squares(columns, response):
    """Coefficients and their variances; an intercept comes first."""
    design = np.column_stack([np.ones(len(response)), columns])
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ response
    residual = response - design @ coefficients
    return coefficients, residual @ residual / (len(design) - design.shape[1]) * np.diag(inverse)


def pooled(estimates, variances):
    """Estimate, variance and degrees of freedom by Rubin's rules."""
    within, between = np.mean(variances), (1 + 1 / len(estimates)) * np.var(estimates, ddof=1)
    freedom = (len(estimates) - 1) * (1 + within / between) ** 2
    return np.mean(estimates), within + between, freedom


def proportions_given(covariate, rng):
    theta = rng.standard_gamma(PRIOR * np.exp(np.outer(covariate, PULL)))
    return theta / theta.sum(axis=1, keepdims=True)


def documents(theta, topics, length, rng):
    return np.array([rng.multinomial(max(1, rng.poisson(length)), words) for words in theta @ topics])


@cache
def world():
    """Topics, a model of them and the order of its topics, and true answers to the questions."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(N_WORDS, 0.1), N_TOPICS)
    X = documents(proportions_given(rng.normal(size=4000), rng), topics, 100, rng)
    model = OnlineEMLDA(N_TOPICS, prior_update="fixed-point", max_iter=10, random_state=0).fit(X)
    distances = ((topics[:, None] - model.components_) ** 2).sum(axis=2)
    covariate = rng.normal(size=1_000_000)
    first = proportions_given(covariate, rng)[:, 0]
    slope = np.cov(covariate, first)[0, 1] / covariate.var()
    return topics, model, linear_sum_assignment(distances)[1], [slope, EFFECTS[0], np.mean(first > 0.5)]


def answers(theta, covariate, response):
    """Estimate and variance of each question, (3, 2)."""
    slopes, their_variances = least_squares(covariate, theta[:, 0])
    effects, variances = least_squares(theta[:, :-1], response)
    is_most = theta[:, 0] > 0.5
    share = is_most.mean(), is_most.var() / (len(theta) - 1)
    return np.array([(slopes[1], their_variances[1]), (effects[1], variances[1]), share])


def replicate(length, rng):
    """Estimates and lower and upper bounds, (questions, answers, 3)."""
    topics, model, order, _ = world()
    covariate = rng.normal(size=N_DOCUMENTS)
    theta = proportions_given(covariate, rng)
    X = documents(theta, topics, length, rng)
    response = theta @ EFFECTS + 0.5 * rng.normal(size=N_DOCUMENTS)
    found = np.empty((len(QUESTIONS), len(ANSWERS), 3))
    for i, known in enumerate((theta, model.transform(X)[:, order])):
        for j, (estimate, variance) in enumerate(answers(known, covariate, response)):
            found[j, i] = estimate, variance, N_DOCUMENTS - 2
    draws = model.sample_proportions(X, N_DRAWS)[:, :, order]
    of_draws = np.array([answers(draws[:, i], covariate, response) for i in range(N_DRAWS)])
    for j in range(len(QUESTIONS)):
        found[j, 2] = pooled(*of_draws[:, j].T)
    reach = t.ppf(0.975, found[:, :, 2]) * np.sqrt(found[:, :, 1])
    return np.stack([found[:, :, 0], found[:, :, 0] - reach, found[:, :, 0] + reach], axis=2)


def measure(length, part):
    """The row of a run: sums over replicates of estimate, width and coverage."""
    rng = np.random.default_rng([length, part])
    truth = np.array(world()[3])[:, None]
    sums = np.zeros((len(QUESTIONS), len(ANSWERS), 3))
    for _ in range(N_AT_ONCE):
        estimate, low, high = np.moveaxis(replicate(length, rng), 2, 0)
        sums += np.stack([estimate / truth, (high - low) / truth, (low <= truth) & (truth <= high)], axis=2)
    return {"sums": np.round(sums, 4).tolist()}


def write_tables(study):
    rows = []
    for (i, question), length in product(enumerate(QUESTIONS), LENGTHS):
        means = np.mean([run["sums"] for run in study.cache.select(words=length)], axis=0)[i] / N_AT_ONCE
        for answer, (estimate, width, coverage) in zip(ANSWERS, means):
            rows.append([question, length, answer, f"{estimate:.2f}", f"{width:.2f}", f"{coverage:.3f}"])
    study.write("", HEAD, rows)


def main():
    study = Study("uncertainty", new_parser(__doc__, runs=True).parse_args())
    study.measure(measure, [(length, part) for part, length in product(range(10), LENGTHS)])
    write_tables(study)


if __name__ == "__main__":
    main()

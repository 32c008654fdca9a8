"""A prior of topic proportions that depends on covariates (Mimno and McCallum, 2008)."""

import json
from dataclasses import dataclass

import numpy as np

from sktopic._inference._protocol import PosteriorStep
from sktopic._state._fields import State, array, changed, name, number, part
from sktopic._topics._covariate_statistics import design
from sktopic._topics._prior import (
    LARGEST_LEARNED,
    PRIOR_INERTIA,
    SMALLEST,
    SMALLEST_LEARNED,
    DocPrior,
    PriorStatistics,
    default_prior,
)
from sktopic.lda._lda_state import LDAState

# Added to the diagonal of matrices with diagonal 1, which rounding may leave singular.
RIDGE = 1e-9
# Averages of CovariateStatistics that steps read.
AVERAGES = "information", "coupling", "total_coupling", "squares"
# Root of a mean square of a covariate, below which the square is too inexact to be divided by.
LEAST_SCALE = 1e-140
# Largest part of the curvature of all topics together that their coupling may cancel.
MOST_COUPLED = 0.98
# Largest change of log alpha by one coefficient in an update.
LARGEST_STEP = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class CovariateEffects(State):
    """Regression of the logarithms of the prior on covariates. The first coefficient is the intercept.

    Attributes
    ----------
    coefficients : ndarray of shape (n_topics, n_coefficients)
    information, coupling, total_coupling, squares : ndarray
        Averages over documents of the fields of CovariateStatistics.
    largest : ndarray of shape (n_coefficients,)
        Largest absolute value of each covariate, behind that of the intercept.
    inverse_size : float
        Inverse of the number of documents that the averages stand for, if none was seen twice. 0 before the
        first of them.
    names : str or None
        Names of the covariates as a JSON list.
    scale, intercept_scale : float
        Standard deviation of the prior of coefficients at the last update.
    """

    coefficients: np.ndarray = array(np.float64, "topics", "coefficients")
    information: np.ndarray = array(np.float64, "topics", "coefficients", "coefficients")
    coupling: np.ndarray = array(np.float64, "topics", "coefficients", "coefficients")
    total_coupling: np.ndarray = array(np.float64, "coefficients", "coefficients")
    squares: np.ndarray = array(np.float64, "topics")
    largest: np.ndarray = array(np.float64, "coefficients")
    inverse_size: float = number(0.0)
    names: str | None = name()
    scale: float = number()
    intercept_scale: float = number()

    @classmethod
    def start(cls, prior, covariates, scale, intercept_scale):
        """Return those with which the covariates have no effect on the prior (n_topics,)."""
        n_topics, n = len(prior), 1 + covariates.values.shape[1]
        coefficients = np.zeros((n_topics, n))
        coefficients[:, 0] = np.log(prior)
        return cls(
            coefficients=coefficients,
            information=np.zeros((n_topics, n, n)),
            coupling=np.zeros((n_topics, n, n)),
            total_coupling=np.zeros((n, n)),
            squares=np.zeros(n_topics),
            largest=np.zeros(n),
            names=None if covariates.names is None else json.dumps(list(covariates.names)),
            scale=scale,
            intercept_scale=intercept_scale,
        )

    def check(self):
        """Raise ValueError if parts do not fit together."""
        names = [""] * self.n_covariates if self.names is None else json.loads(self.names)
        if type(names) is not list or list(map(type, names)) != [str] * self.n_covariates:
            raise ValueError("the names of the covariates are not a list of one string for each")
        if not min(self.scale, self.intercept_scale) > 0.0:
            raise ValueError("the prior of the effects of covariates has a scale that is not positive")

    @property
    def n_covariates(self):
        return self.coefficients.shape[1] - 1

    @property
    def precision(self):
        """Precisions of the Gaussian prior of the coefficients of a topic, (n_coefficients,)."""
        return np.append(self.intercept_scale, np.full(self.n_covariates, self.scale)) ** -2.0

    @property
    def covariate_names(self):
        """Names of the covariates, ndarray of str, or None."""
        return None if self.names is None else np.array(json.loads(self.names), dtype=object)

    def prior_of(self, covariates):
        """Return the prior of each document, (n_documents, n_topics), from its covariates alone."""
        log_prior = np.zeros((len(covariates), len(self.coefficients)))
        for x, effects in zip(design(covariates).T, self.coefficients.T):
            log_prior += x[:, None] * effects  # term by term, so that no document affects another by rounding
        return np.exp(np.clip(log_prior, np.log(SMALLEST_LEARNED), np.log(LARGEST_LEARNED)))

    def of_topics(self, topics):
        """Return the effects on these topics, in this order."""
        names = "coefficients", "information", "coupling", "squares"
        return changed(self, **{name: getattr(self, name)[topics] for name in names})

    def size(self, n_documents):
        """Return the number of documents that the averages stand for, in a corpus of n_documents."""
        return min(max(n_documents, SMALLEST), 1.0 / self.inverse_size) if self.inverse_size > 0.0 else 0.0

    def solution(self, more, right):
        """Return parts of the solution of equations with the mean information of all coefficients.

        The information has the blocks B_k - U_k S^-1 U_k' on its diagonal, and -U_j S^-1 U_k' elsewhere, with
        U the coupling and S the total coupling. This is the coupling of topics if their shares do not depend
        on covariates, or if the coefficients of all topics change alike. The uncertainty of the topics of
        tokens reduces B_k. By Woodbury's formula, the inverse has the blocks B_j^-1 (j = k, else 0) +
        V_j M V_k'.

        Returns
        -------
        found, spread, middle : (n_topics, m, j), (n_topics, m, m) and (m, m) B_k^-1 right_k, V and M
        """
        coupling, total = self.coupling, self.total_coupling
        known = np.maximum(self.information[:, 0, 0], np.maximum(self.squares, SMALLEST))
        blocks = (self.squares / known)[:, None, None] * self.information + more
        found = solved(blocks, np.concatenate([right, coupling], axis=2))
        found, spread = np.split(found, [right.shape[2]], axis=2)
        scale = np.sqrt(np.diagonal(total))
        scale = 1.0 / np.where(scale > LEAST_SCALE, scale, 1.0)
        root = np.linalg.cholesky(scale[:, None] * total * scale + RIDGE * np.eye(len(scale)))
        root = scale[:, None] * np.linalg.inv(root).T  # root @ root.T is the inverse of S
        values, vectors = np.linalg.eigh(root.T @ np.einsum("kpq,kpr->qr", coupling, spread) @ root)
        root = root @ vectors
        return found, spread, root / (1.0 - np.minimum(values, MOST_COUPLED)) @ root.T

    def standard_errors(self, n_documents):
        """Return the standard errors of the coefficients, (n_topics, n_coefficients), at most the prior's."""
        n, size = self.coefficients.shape[1], self.size(n_documents)
        of_prior = np.broadcast_to(self.precision**-0.5, self.coefficients.shape)
        if size == 0.0:
            return of_prior
        right = np.broadcast_to(np.eye(n), self.information.shape)
        found, spread, middle = self.solution(np.diag(self.precision / size), right)
        covariance = found + spread @ middle @ spread.swapaxes(1, 2)
        return np.minimum(np.sqrt(np.diagonal(covariance, axis1=1, axis2=2) / size), of_prior)

    def left(self, stays, n_documents):
        """Return the effects on the topics that stay, with the joint posterior that they had.

        Integrating out the coefficients of the other topics reduces the total coupling S by the sum of their
        U_k' V_k (Schur complement), so that M stays.
        """
        left, size = self.of_topics(stays), self.size(n_documents)
        if size == 0.0:
            return left
        none = self.information[:, :, :0]
        _, spread, middle = self.solution(np.diag(self.precision / size), none)
        scale = np.sqrt(np.diagonal(middle))
        total = np.linalg.inv(middle / scale / scale[:, None]) / scale / scale[:, None]
        total += np.einsum("kpq,kpr->qr", left.coupling, spread[stays])
        return changed(left, total_coupling=total)


@dataclass(frozen=True, eq=False, kw_only=True)
class DMRState(LDAState):
    """The state of a model that may have been trained with covariates.

    Attributes
    ----------
    effects : CovariateEffects or None
        None without covariates. If there are covariates, doc_topic_prior is the mean prior of documents.
    """

    effects: CovariateEffects | None = part(CovariateEffects, optional=True)

    @property
    def intercept(self):
        """Intercepts, (n_topics,), or None."""
        return None if self.effects is None else self.effects.coefficients[:, 0]

    @property
    def covariate_effects(self):
        """Effects, (n_topics, n_covariates), or None."""
        return None if self.effects is None else self.effects.coefficients[:, 1:]

    @property
    def covariate_names(self):
        """Names of the covariates, ndarray of str, or None."""
        return None if self.effects is None else self.effects.covariate_names

    def check(self):
        """Raise ValueError if parts do not fit together."""
        super().check()
        if self.effects is not None:
            self.effects.check()


@dataclass(frozen=True)
class CovariatePrior(DocPrior):
    """A prior that documents with covariates learn by regression; without covariates, a DocPrior.

    Attributes
    ----------
    n_components : number of topics at the start, which gives the mean of the prior of intercepts
    scale, intercept_scale : standard deviation of the prior of coefficients
    most_over_t : largest step size, times the number of the update
    """

    n_components: int = 1
    scale: float = 1.0
    intercept_scale: float = 1.0
    most_over_t: float = np.inf

    def of(self, state, batch):
        if batch.covariates is None:
            return state.doc_topic_prior
        return state.effects.prior_of(batch.covariates)

    def learned(self, state, prior, statistics, rho, n_documents):
        """Make a Newton step toward the maximum of the posterior of the coefficients."""
        if isinstance(statistics, PriorStatistics):
            return super().learned(state, prior, statistics, rho, n_documents)
        effects = changed(state.effects, scale=self.scale, intercept_scale=self.intercept_scale)
        if len(effects.coefficients) == 1:  # the proportion of a single topic is 1 for any coefficients
            return {"effects": effects}
        n, t = statistics.n_documents, PRIOR_INERTIA + state.n_prior_updates + 1
        rho = min(rho, self.most_over_t / t)
        batch = {name: getattr(statistics, name) / n for name in AVERAGES}
        if effects.inverse_size == 0.0:  # the start weighs as much as PRIOR_INERTIA batches
            effects = changed(effects, **batch, inverse_size=1.0 / (PRIOR_INERTIA * n))
        averages = {name: (1.0 - rho) * getattr(effects, name) + rho * batch[name] for name in AVERAGES}
        inverse_size = (1.0 - rho) ** 2 * effects.inverse_size + rho**2 / n
        largest = np.maximum(effects.largest, statistics.largest)
        effects = changed(effects, **averages, inverse_size=inverse_size, largest=largest)
        # With the curvature of the batch, no batch alone moves the coefficients by more than its Newton step.
        step = rho * self._step(effects, statistics.gradient / n, rho * statistics.curvature / n, n_documents)
        step /= np.maximum(np.abs(step * largest).max(axis=1, keepdims=True) / LARGEST_STEP, 1.0)
        return {
            "effects": changed(effects, coefficients=effects.coefficients + step),
            "doc_topic_prior": (1.0 - rho) * prior + rho * statistics.prior / n,
        }

    def _step(self, effects, gradient, damping, n_documents):
        """Return the step along a natural gradient, given the mean gradient of the log likelihood."""
        coefficients, size = effects.coefficients, effects.size(n_documents)
        precision = effects.precision / size
        mean = np.zeros(coefficients.shape[1])
        mean[0] = np.log(default_prior(self.n_components))
        slope = (gradient + precision * (mean - coefficients))[..., None]
        found, spread, middle = effects.solution(damping + np.diag(precision), slope)
        return (found + spread @ (middle @ np.einsum("kpq,kpi->qi", spread, slope)))[..., 0]

    def rearranged(self, state, order):
        fields = super().rearranged(state, order)
        return fields if state.effects is None else {**fields, "effects": state.effects.of_topics(order)}

    def edited(self, state, edit):
        fields = super().edited(state, edit)
        if state.effects is None:
            return fields
        if edit.merged.any():
            raise ValueError(
                "a model with covariates does not support merge_topics: the sum of two priors is not the "
                "exponential of a linear function of covariates. Use drop_topics."
            )
        return {**fields, "effects": state.effects.left(edit.stays, state.total_samples)}


def solved(matrices, right):
    """Return the solutions (n, m, j) of linear equations with positive definite matrices (n, m, m).

    The scales of rows and columns do not matter. Almost dependent rows give small solutions.
    """
    scale = 1.0 / np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))[..., None]
    scaled = scale * matrices * scale.swapaxes(1, 2) + RIDGE * np.eye(matrices.shape[1])
    return scale * np.linalg.solve(scaled, scale * right)


@dataclass
class OwnPriors:
    """A document step that gives each document the prior that follows from its covariates, if it has any."""

    step: PosteriorStep
    effects: CovariateEffects

    def _prior(self, batch, prior):
        return prior if batch.covariates is None else self.effects.prior_of(batch.covariates)

    def __call__(self, batch, topics, prior, keys, workers):
        return self.step(batch, topics, self._prior(batch, prior), keys, workers)

    def by_cell(self, batch, topics, prior, keys, workers):
        return self.step.by_cell(batch, topics, self._prior(batch, prior), keys, workers)

    def posteriors(self, batch, topics, prior, keys, n_draws, workers):
        return self.step.posteriors(batch, topics, self._prior(batch, prior), keys, n_draws, workers)

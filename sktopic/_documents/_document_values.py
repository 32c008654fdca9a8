"""Values that documents have besides their words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class DocumentValues(NamedTuple):
    """Arrays with one row a document. Each is None if documents have no such values.

    Attributes
    ----------
    sample_weight : (n_documents,) how many documents each counts as; None: one
    covariates : (n_documents, n_covariates)
    """

    sample_weight: np.ndarray | None = None
    covariates: np.ndarray | None = None

    def of(self, rows):
        """Return the values of some documents."""
        return DocumentValues(*[None if array is None else array[rows] for array in self])

    @classmethod
    def joined(cls, parts):
        """Return the values of all documents of several parts, in order."""
        return cls(*(None if arrays[0] is None else np.concatenate(arrays) for arrays in zip(*parts)))


NO_VALUES = DocumentValues()

"""Types that public signatures name."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from sktopic._documents._corpus import Corpus

# Documents by words: anything NumPy makes an array of, a data frame among them, or a sparse matrix.
MatrixLike: TypeAlias = ArrayLike | sp.spmatrix | sp.sparray
# The same, a corpus on disk, or an iterable of blocks of rows, each a matrix.
DocumentsLike: TypeAlias = MatrixLike | Corpus | Iterable[MatrixLike]
# Results in double precision; and in that of X, where it is float32.
FloatArray: TypeAlias = NDArray[np.float64]
FloatingArray: TypeAlias = NDArray[np.floating]
IntArray: TypeAlias = NDArray[np.int64]
# Topics by their numbers or names.
TopicsLike: TypeAlias = Iterable[int | str]
# What names streams of random numbers, as everywhere in scikit-learn.
RandomState: TypeAlias = int | np.random.RandomState | None

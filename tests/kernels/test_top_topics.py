"""The most probable topics of cells."""

import numpy as np
import pytest

from sktopic._kernels.inference._top_topics import choose_topics
from tests.kernels.tools import for_both_precisions
from tests.reference import top_topics as reference


@for_both_precisions
@pytest.mark.parametrize("n_chosen", [1, 3, 6])
def test_choice_is_that_of_the_reference(n_chosen, dtype):
    weights = np.random.default_rng(0).integers(0, 5, (200, 6)).astype(dtype)  # with many ties
    weights[:, 2] += dtype(0.1)
    wider = np.concatenate([weights, np.zeros((200, 10), dtype)], axis=1)
    topics, probabilities = np.empty((200, n_chosen), np.int32), np.empty((200, n_chosen))
    choose_topics(wider[:, :6], topics, probabilities)
    expected = reference.choose_topics(weights, n_chosen)
    np.testing.assert_array_equal(topics, expected[0])
    np.testing.assert_allclose(probabilities, expected[1], rtol=1e-14)

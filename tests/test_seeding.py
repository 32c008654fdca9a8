"""Topics to start from that are made of documents."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic.seeding import document_components

from .conftest import assert_raises

COUNTS = np.array([[2.0, 0, 2], [0, 0, 0], [0, 3, 1], [4, 0, 0]])


def test_topics_are_documents_and_frequencies():
    components = document_components(COUNTS, 3, share=0.25, random_state=0)
    documents = (components - 0.75 * COUNTS.sum(axis=0) / 12) / 0.25
    expected = COUNTS[[0, 2, 3]] / 4  # each document with words once
    order = [np.abs(documents - row).sum(axis=1).argmin() for row in expected]
    assert sorted(order) == [0, 1, 2]
    assert_allclose(documents[order], expected, atol=1e-12)
    for container in (sp.csr_array, sp.csc_array):
        found = document_components(container(COUNTS), 3, share=0.25, random_state=0)
        assert_array_equal(found, components)


def test_documents_come_again_where_there_are_too_few():
    components = document_components(COUNTS, 50, share=1.0, random_state=0)
    assert {tuple(row) for row in components} == {tuple(row) for row in COUNTS[[0, 2, 3]] / 4}


def test_errors_say_what_is_wrong():
    for arguments, message in [
        ((COUNTS, 0), "n_components=0"),
        ((COUNTS, True), "n_components=True"),
        ((COUNTS, 10**400), "an integer from 1 to 2147483647"),
        ((-COUNTS, 2), "Negative"),
        ((0 * COUNTS, 2), "no words"),
    ]:
        assert_raises(ValueError, message, document_components, *arguments)
    with pytest.raises(ValueError, match=r"share=1\.5"):
        document_components(COUNTS, 2, share=1.5)

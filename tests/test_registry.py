"""Whether tests know of every estimator what they need: the sentence says what to add to registry.py."""

import inspect

import numpy as np

from .registry import (
    ARGUMENTS,
    BAD_VALUES,
    CLASSES,
    LOOPS,
    SET_BY_TESTS,
    UNBOUNDED,
    VARIANTS,
    allows,
    bad_values,
    constraints_of,
    having,
    is_filter,
    is_minibatch,
    is_sampler,
    methods_with_data,
    options_of,
)


def missing_from(table, names):
    return sorted(set(names) - set(table))


def test_every_parameter_has_values_that_must_be_refused():
    names = {name for kind in CLASSES.values() for name in kind().get_params()}
    missing = missing_from(BAD_VALUES, names)
    assert not missing, f"add values that must be refused of {missing} to _KINDS in tests/registry.py"
    assert names >= BAD_VALUES.keys(), "remove what no estimator has from _KINDS in tests/registry.py"


def test_every_value_of_every_option_is_in_a_variant():
    missing = []
    for name, kind in CLASSES.items():
        params = kind().get_params()
        for option in params.keys() - SET_BY_TESTS:
            tried = [params[option], *(each.get(option) for each in VARIANTS.get(name, []) if option in each)]
            values = [value for value in options_of(kind, option) if not str(value).startswith("auto")]
            if option != "shuffle" or is_filter(kind()):  # of mini-batches, tests of streams set it
                missing += [
                    f"{name}({option}={value!r})"
                    for value in values
                    if value is not None and value not in tried
                ]
    assert not missing, f"add a variant with each of {missing} to VARIANTS in tests/registry.py"

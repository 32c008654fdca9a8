"""Whether tests know of every estimator what they need: the sentence says what to add to registry.py."""

import inspect

import sktopic

from .registry import (
    ARGUMENTS,
    BAD_VALUES,
    CLASSES,
    SET_BY_TESTS,
    STEPS,
    UNBOUNDED,
    VARIANTS,
    defaults,
    functions_with_data,
    is_filter,
    is_minibatch,
    is_sampler,
    methods_with_data,
    options_of,
)

GIVEN = {"self", "X", "model", "model_or_components", "estimator"}


def test_every_estimator_is_registered_and_that_of_the_package_is_that_of_its_family():
    """And so can be saved."""
    families = sktopic.lda, sktopic.hdp, sktopic.moment_matching
    kinds = {name: getattr(family, name) for family in families for name in family.__all__}
    assert kinds == CLASSES
    named = {name for name in sktopic.__all__ if inspect.isclass(getattr(sktopic, name))}
    assert "OnlineEMLDA" in named < kinds.keys()
    assert all(getattr(sktopic, name) is kinds[name] for name in named)


def test_every_parameter_has_values_that_must_be_refused():
    names = {name for kind in CLASSES.values() for name in kind().get_params()}
    missing = sorted(names - BAD_VALUES.keys())
    assert not missing, f"add invalid values for {missing} to _KINDS in tests/registry.py"
    assert not BAD_VALUES.keys() - names, "remove what no estimator has from _KINDS in tests/registry.py"


def test_every_value_of_every_option_is_in_a_variant():
    """But 'auto', which tests set where it is allowed, and the order of documents, by tests of streams."""
    missing = []
    for name, kind in CLASSES.items():
        tried = [kind().get_params() | params for params in ({}, *VARIANTS.get(name, ()))]
        for option in tried[0].keys() - SET_BY_TESTS - ({"shuffle"} if is_minibatch(kind()) else set()):
            values = [
                value for value in options_of(kind, option) if value is not None and "auto" not in str(value)
            ]
            missing += [f"{name}({option}={v!r})" for v in values if v not in [one[option] for one in tried]]
    assert not missing, f"add variants with {missing} to VARIANTS in tests/registry.py"
    assert VARIANTS.keys() | UNBOUNDED.keys() <= CLASSES.keys(), (
        "remove classes that are gone from tests/registry.py"
    )


def test_every_estimator_is_of_a_kind_that_tests_know():
    unknown = [
        name
        for name, kind in CLASSES.items()
        if [is_minibatch(kind()), is_sampler(kind()), is_filter(kind())].count(True) != 1
    ]
    assert not unknown, (
        f"add a function as is_filter for the kind of {unknown} to tests/registry.py, and its laws"
    )


def test_what_takes_documents_can_be_called():
    public = [getattr(kind, name) for kind in CLASSES.values() for name in methods_with_data(kind)]
    for function in public + functions_with_data():
        parameters = inspect.signature(function).parameters.values()
        needed = {
            each.name
            for each in parameters
            if each.default is each.empty and each.kind is not each.VAR_KEYWORD
        }
        missing = needed - GIVEN - ARGUMENTS.get(function.__name__, {}).keys()
        assert not missing, f"add {sorted(missing)} of {function.__name__} to ARGUMENTS in tests/registry.py"
    gone = ARGUMENTS.keys() - {each.__name__ for each in public + functions_with_data()}
    assert not gone, f"remove {gone} from tests/registry.py"


def test_methods_that_take_documents_are_those_of_one_of_each_kind_of_inference():
    def methods(one):
        return {inspect.getattr_static(type(one), name) for name in methods_with_data(one)}

    known = list(map(methods, STEPS))
    missing = [one for one in defaults() if not any(methods(one) <= each for each in known)]
    assert not missing, f"let _step in tests/registry.py tell {missing} from other classes"

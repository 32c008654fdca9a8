"""Docstrings of the estimators: the same parameter in the same words, and defaults as in the signature."""

import ast
import importlib
import inspect
import itertools
import pkgutil
import re
from collections import defaultdict

import sktopic

from .pages import ROOT
from .registry import CLASSES

PUBLIC_MODULES = [*sktopic._MODULES, "dask"]
ENTRY = re.compile(r"(?P<names>\w[\w, ]*) : (?P<kind>.*?)(?:,? default=(?P<default>.*))?")

# What an estimator says in words of its own, where others of its kind say something else: the parameter does
# more there, or another thing.
OWN = {
    "CollapsedGibbsLDA": "topic_word_prior_",
    "CollapsedGibbsHDP": "doc_topic_prior_ evaluate_every log_likelihood_ n_components n_components_ n_jobs "
    "topic_word_counts_ topic_word_prior",
    "DMRLDA": "batch_size doc_burn_in doc_topic_prior_ learning_decay topic_word_prior topic_word_prior_ "
    "total_samples",
    "DirectAssignmentHDP": "doc_concentration doc_concentration_ doc_concentration_prior doc_topic_prior_ "
    "learning_method max_iter n_components n_components_ n_components_range_ split_merge topic_concentration "
    "topic_concentration_ topic_concentration_prior topic_ids_ topic_weights_ topic_word_prior "
    "topic_word_prior_ total_samples",
    "HybridHDP": "doc_burn_in doc_concentration doc_concentration_ doc_topic_prior_ move_history_ "
    "n_components n_components_ split_merge topic_concentration topic_concentration_ topic_ids_ "
    "topic_weights_ topic_word_prior topic_word_prior_ total_samples",
    "HybridLDA": "topic_word_prior topic_word_prior_ total_samples",
    "LangevinLDA": "components_ learning_decay learning_offset topic_word_prior topic_word_prior_ "
    "total_samples",
    "MomentMatchingLDA": "n_components n_components_",
    "OnlineCVB0LDA": "doc_topic_prior max_doc_update_iter",
    "OnlineEMHDP": "doc_concentration doc_topic_prior_ n_components n_components_ topic_concentration "
    "topic_ids_ topic_weights_ topic_word_prior",
    "OnlineEMLDA": "batch_size doc_burn_in learning_decay prior_rate prior_shape prior_update "
    "topic_word_prior topic_word_prior_",
    "OnlineOPELDA": "doc_topic_prior max_doc_update_iter",
    "OnlineVariationalHDP": "doc_concentration doc_topic_prior_ n_components n_components_ "
    "topic_concentration topic_ids_ topic_weights_ topic_word_counts_ topic_word_prior topic_word_prior_ "
    "total_samples",
    "OnlineVariationalLDA": "components_init prior_update topic_word_prior topic_word_prior_ total_samples",
    "SinglePassLDA": "max_doc_update_iter",
    "StreamingGibbsLDA": "doc_burn_in max_iter topic_word_counts_",
    "StreamingVariationalLDA": "components_init max_iter topic_word_counts_ topic_word_prior "
    "topic_word_prior_",
    "TruncationFreeHDP": "doc_burn_in doc_sweeps doc_topic_prior_ n_components n_components_ n_samples_seen_ "
    "topic_word_prior topic_word_prior_ total_samples",
}


def kind_of(name):
    """Estimators of one kind describe their parameters alike."""
    if name.startswith("CollapsedGibbs"):
        return "batch samplers"
    return "filters" if "moment_matching" in CLASSES[name].__module__ else "mini-batch methods"


def described(name):
    """Yield name, type, default and description of the parameters and fitted attributes of an estimator."""
    yield from entries_of(CLASSES[name], "Parameters")
    yield from entries_of(CLASSES[name], "Attributes")


def entries_of(documented, title):
    """Yield the same of one section of a docstring; lines that give names alone are left out."""
    docstring = inspect.getdoc(documented) or ""
    section = docstring.partition(f"\n{title}\n{'-' * len(title)}\n")[2].split("\n\n")[0]
    for head, *text in (entry.split("\n") for entry in re.split(r"\n(?! )", section)):
        match = ENTRY.fullmatch(head)
        for described_name in match["names"].split(", ") if match else ():
            yield described_name, match["kind"], match["default"], " ".join(map(str.strip, text))


def test_the_same_is_said_in_the_same_words():
    descriptions = defaultdict(dict)
    for name in CLASSES:
        for described_name, kind, _, text in described(name):
            descriptions[kind_of(name), described_name][name] = kind, text
    for (_, described_name), by_estimator in descriptions.items():
        shared = defaultdict(list)
        for name, description in by_estimator.items():
            if described_name not in OWN.get(name, "").split():
                shared[description].append(name)
        assert len(shared) <= 1, f"{described_name} in different words: {list(shared.values())}"
    stated = {(name, each) for (_, each), by_estimator in descriptions.items() for name in by_estimator}
    gone = {(name, each) for name, names in OWN.items() for each in names.split()} - stated
    assert not gone, f"remove from OWN: {sorted(gone)}"


def test_parameters_and_defaults_are_those_of_the_signature():
    for name, kind in CLASSES.items():
        parameters = inspect.signature(kind).parameters.values()
        stated = [
            (described_name, ast.literal_eval(default))
            for described_name, _, default, _ in described(name)
            if not described_name.endswith("_")
        ]
        assert stated == [(parameter.name, parameter.default) for parameter in parameters], name


def test_defaults_of_functions_are_those_of_the_signature():
    for function in public_functions():
        parameters = inspect.signature(function).parameters
        for name, _, default, _ in entries_of(function, "Parameters"):
            stated = function.__qualname__, name, default
            assert name in parameters, stated
            value = repr(parameters[name].default).replace("'", '"')
            of_several = [] if default is None else [default, *default.split(", ")]
            assert default is None or value in [each.replace("'", '"') for each in of_several], stated


def test_relative_score_has_the_defaults_of_document_completion_as_it_says():
    relative, completion = (
        {each.name: each.default for each in inspect.signature(function).parameters.values()}
        for function in (sktopic.metrics.relative_score, sktopic.metrics.document_completion)
    )
    relative.pop("per")
    assert relative == completion


def test_the_page_of_the_interface_lists_what_is_public():
    page = (ROOT / "doc" / "api.rst").read_text(encoding="utf-8")
    modules = {name: importlib.import_module(f"sktopic.{name}") for name in PUBLIC_MODULES}
    public = {f"{module}.{name}" for module, held in modules.items() for name in held.__all__} | {"load"}
    assert set(re.findall(r"^   ((?:\w+\.)*\w+)$", page, re.M)) == public


def test_modules_that_the_page_of_the_interface_does_not_list_have_private_names():
    found = {each.name for each in pkgutil.walk_packages(sktopic.__path__, "sktopic.")}
    assert {name for name in found if "._" not in name} == {f"sktopic.{name}" for name in PUBLIC_MODULES}


def test_the_page_of_the_interface_says_which_modules_are_experimental():
    page = (ROOT / "doc" / "api.rst").read_text(encoding="utf-8")
    sections = re.split(r"\n\n.+\n-+\n", page)[1:]
    marked = [
        re.findall(r"py:module:: sktopic\.(\w+)", each) for each in sections if "are experimental" in each
    ]
    documented = {name: importlib.import_module(f"sktopic.{name}").__doc__ for name in PUBLIC_MODULES}
    assert {name for name, text in documented.items() if "experimental" in text} == {
        *itertools.chain(*marked)
    }


def public_functions():
    """Functions of modules, and methods and properties of estimators, that are this library's own."""
    modules = [getattr(sktopic, name) for name in sktopic._MODULES]
    found = [getattr(module, name) for module in modules for name in module.__all__]
    for kind in CLASSES.values():
        members = [member for name, member in inspect.getmembers(kind) if not name.startswith("_")]
        found += [member.fget if isinstance(member, property) else member for member in members]
    ours = [each for each in found if inspect.isfunction(each) and each.__module__.startswith("sktopic")]
    return list(dict.fromkeys(ours))


def test_functions_and_estimators_have_an_example():
    """Results and warnings have none: the functions that return them do."""
    modules = [importlib.import_module(f"sktopic.{name}") for name in PUBLIC_MODULES]
    public = [sktopic.load, *(getattr(module, name) for module in modules for name in module.__all__)]
    found = [each for each in public if inspect.isfunction(each) or hasattr(each, "get_params")]
    assert len(found) > 70 and not [each.__qualname__ for each in found if ">>>" not in each.__doc__]


def public_docstrings():
    documented = [sktopic.load, *CLASSES.values(), *public_functions()]
    return {found.__qualname__: inspect.getdoc(found) or "" for found in documented}


def test_docstrings_are_plain_text_as_help_shows_them():
    roles = re.compile(r"(?<![\w:]):[a-z]+(?::[a-z]+)*:`")
    assert not [name for name, text in public_docstrings().items() if roles.search(text)]


def test_signatures_are_annotated_and_a_reader_takes_them_in():
    """Types are named: ``ArrayLike`` alone is 300 characters when it is spelled out."""
    for function in public_functions():
        signature, name = inspect.signature(function), function.__qualname__
        given = [each.annotation for each in signature.parameters.values() if each.name != "self"]
        given.append(signature.return_annotation)
        assert inspect.Signature.empty not in given, name
        assert max(len(inspect.formatannotation(each)) for each in given) <= 80, name
        assert "." not in name or len(str(signature)) <= 160, name
    for kind in CLASSES.values():
        given = [each.annotation for each in inspect.signature(kind).parameters.values()]
        assert max(len(inspect.formatannotation(each)) for each in given) <= 80, kind

"""A corpus of English texts that needs no download: docstrings of installed packages."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Sequence
from numbers import Integral
from types import ModuleType

import numpy as np
from sklearn.utils import Bunch, check_scalar

_PACKAGES = ("numpy", "scipy", "sklearn")

# Submodules that are skipped, by the last part of their name.
_SKIPPED_MODULES = {
    "blas",  # and lapack: generated, one text for hundreds of Fortran routines
    "conftest",
    "core",  # numpy.core: deprecated alias of a private package
    "distutils",
    "experimental",  # its modules switch features on when imported
    "externals",
    "f2py",  # internals without prose
    "lapack",
    "setup",
    "test",
    "tests",
}

# Public only after an opt-in import. Left out so that the corpus does not depend on earlier imports.
_OPT_IN_NAMES = {"HalvingGridSearchCV", "HalvingRandomSearchCV", "IterativeImputer"}

# Methods that scikit-learn generates for every estimator.
_GENERATED_METHOD = re.compile(r"set_\w+_request")

_REMOVABLE = ("examples", "headers", "references", "see_also")
_SECTIONS = {
    "example": "examples",
    "examples": "examples",
    "references": "references",
    "reference": "references",
    "see also": "see_also",
}

_UNDERLINING = frozenset("-=~^*+#\"'`")
_UNDERLINE = re.compile(r"\s*([-=~^*+#\"'`])\1{2,}\s*")
_RUBRIC = re.compile(r"\s*\.\. rubric::\s*(.*)")
_FOOTNOTE = re.compile(r"\s*\.\. \[")
# Deprecation notes of scipy that list a set; the order of its elements changes from process to process.
_PRINTED_SET = re.compile(r"(?<=argument\(s\) ``\{)[^{}]*(?=\}``)")
_WORD = re.compile(r"[^\W\d_]{2,}")


def load_docstrings(
    *, min_words: int = 20, remove: Sequence[str] = ("examples", "headers", "references")
) -> Bunch:
    """Load the docstrings of the installed numpy, scipy and scikit-learn as a corpus.

    Each docstring of a public module, class, function or method becomes a document: several thousand
    English texts without a download. The label of a document is its subpackage.

    Parameters
    ----------
    min_words : int, default=20
        Minimum number of words per document after `remove`. A word is a run of at least two letters.
    remove : tuple of str, default=("examples", "headers", "references")
        Parts to strip from the texts. The default leaves mostly prose; ``()`` leaves the texts unchanged.

        - "examples": sections titled Examples, and other doctest lines with their output;
        - "headers": section titles with their underlines, and signatures of compiled functions;
        - "references": sections titled References, and footnotes;
        - "see_also": sections titled See Also.

    Returns
    -------
    bunch : Bunch
        data : list of str, length n_samples
            The texts, sorted by qualified name. No two are identical.
        target : ndarray of shape (n_samples,), dtype int64
            Index into `target_names`.
        target_names : list of str, length n_classes
            Subpackages such as "scipy.stats", sorted. Objects at the top level of a package have the
            package itself as label ("numpy").
        names : list of str, length n_samples
            Qualified names such as "scipy.stats.rankdata", sorted.
        DESCR : str
            A description with the versions of the three packages.

    Raises
    ------
    ValueError
        If `remove` contains an unknown name, or no document has `min_words` words.
    RuntimeError
        If Python runs with ``-OO`` or ``PYTHONOPTIMIZE=2``, which remove most docstrings.

    Notes
    -----
    Texts depend on the installed versions, so compare results only between runs with the same `DESCR`.

    - An object or text with several public names is kept once, under the name with the fewest dots; ties go
      to the alphabetically first.
    - Left out: names that start with an underscore, test modules, features that need an opt-in import,
      generated ``set_{method}_request`` methods, and modules that cannot be imported.

    Examples
    --------
    >>> from sktopic.datasets import load_docstrings
    >>> docs = load_docstrings()
    >>> len(docs.data) > 2000
    True
    >>> index = docs.names.index("scipy.stats.rankdata")
    >>> docs.target_names[docs.target[index]]
    'scipy.stats'
    >>> docs.data[index].splitlines()[0]
    'Assign ranks to data, dealing with ties appropriately.'
    """
    check_scalar(min_words, "min_words", Integral, min_val=0)
    if isinstance(remove, str) or not set(remove) <= set(_REMOVABLE):
        raise ValueError(f"remove must be a tuple of names among {_REMOVABLE}, got {remove!r}.")

    if __doc__ is None:  # only compiled functions, and docstrings that NumPy adds by calls, would be left
        raise RuntimeError(
            "load_docstrings finds no docstrings: Python runs with -OO or PYTHONOPTIMIZE=2, which remove "
            "them. Run Python without this option."
        )

    docs, modules = {}, set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        versions = {}
        for package in _PACKAGES:
            for module in _public_modules(package):
                modules.add(module.__name__)
                docs.update(_docs_of_module(module))
            versions[package] = importlib.import_module(package).__version__

    first: dict[str, str] = {}  # the preferred name of each docstring: inherited methods share docstrings
    for name in sorted(docs, key=lambda name: (name.count("."), name)):
        first.setdefault(docs[name], name)

    kept = {}
    for doc, name in first.items():
        doc = _PRINTED_SET.sub(lambda found: ", ".join(sorted(found[0].split(", "))), doc)
        text = _strip(inspect.cleandoc(doc), remove)
        if text not in kept and len(_WORD.findall(text)) >= min_words:
            kept[text] = name
    if not kept:
        raise ValueError(f"No docstring has min_words={min_words} words; lower min_words.")

    pairs = sorted((name, text) for text, name in kept.items())
    labels = [_target_of(name, modules) for name, _ in pairs]
    target_names, target = np.unique(labels, return_inverse=True)
    described = ", ".join(f"{package} {version}" for package, version in versions.items())
    return Bunch(
        data=[text for _, text in pairs],
        target=target.astype(np.int64),
        target_names=target_names.tolist(),
        names=[name for name, _ in pairs],
        DESCR=(
            f"{len(pairs)} docstrings of the public modules, classes, functions and methods of {described}, "
            f"of at least {min_words} words, in {len(target_names)} subpackages. "
            f"Removed: {', '.join(sorted(set(remove))) or 'nothing'}."
        ),
    )


def _public_modules(name):
    """Yield the module `name` and its public submodules that can be imported."""
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit):
        return
    yield module
    if hasattr(module, "__path__"):
        for info in sorted(pkgutil.iter_modules(module.__path__), key=lambda info: info.name):
            if not info.name.startswith("_") and info.name not in _SKIPPED_MODULES:
                yield from _public_modules(f"{name}.{info.name}")


def _docs_of_module(module):
    """Map qualified names to the raw docstrings of `module`, its classes, functions and methods."""
    found = {module.__name__: module.__doc__}
    declared = getattr(module, "__all__", None)
    for name in sorted(dir(module) if declared is None else declared):
        if name.startswith("_") or name in _OPT_IN_NAMES:
            continue
        try:
            member = getattr(module, name)
            origin = _origin(member)
            doc = _own_doc(member)
        except Exception:  # a declared attribute that no longer exists
            continue
        if origin.split(".")[0] not in _PACKAGES or (declared is None and origin != module.__name__):
            continue
        qualified = f"{module.__name__}.{name}"
        found[qualified] = doc
        if inspect.isclass(member):
            found.update(_docs_of_methods(member, qualified))
    return {name: doc for name, doc in found.items() if isinstance(doc, str)}


def _docs_of_methods(cls, qualified):
    """Map qualified names to the docstrings of public methods that `cls` defines or inherits."""
    found = {}
    for name, _, owner, member in inspect.classify_class_attrs(cls):
        if owner.__module__.split(".")[0] not in _PACKAGES:
            continue
        if name.startswith("_") or _GENERATED_METHOD.fullmatch(name):
            continue
        if inspect.isroutine(member):
            found[f"{qualified}.{name}"] = getattr(member, "__doc__", None)
    return found


def _origin(member):
    """Name the module that defines `member`."""
    owner = getattr(member, "__self__", None)
    if not getattr(member, "__module__", None) and owner is not None and not isinstance(owner, ModuleType):
        return type(owner).__module__
    return getattr(member, "__module__", None) or type(member).__module__


def _own_doc(member):
    """Return the docstring written for `member`, or None if the docstring belongs to its type."""
    if inspect.ismodule(member):
        return None
    if inspect.isclass(member):
        return inspect.getattr_static(member, "__doc__")  # unprocessed, with the signature
    if inspect.isroutine(member):
        return member.__doc__
    doc = member.__doc__ if callable(member) else None
    return doc if doc != type(member).__doc__ else None


def _target_of(name, modules):
    """Return the subpackage of a qualified name: two parts, or one for a package's top level."""
    subpackage = ".".join(name.split(".")[:2])
    return subpackage if subpackage in modules else name.split(".")[0]


def _strip(text, remove):
    """Remove the parts named in `remove` from a cleaned docstring."""
    lines = [line.rstrip() for line in text.splitlines()]
    if "headers" in remove:
        lines = _without_signature(lines)
    underlines = [_is_underline(line) for line in lines]
    kept = []
    dropping = in_doctest = False
    footnote_indent = None
    position = 0
    while position < len(lines):
        line = lines[position]
        title, length = _title(lines, underlines, position)
        if title is not None:
            dropping = _SECTIONS.get(title.lower()) in remove
            in_doctest, footnote_indent = False, None
            if not dropping and "headers" not in remove:
                kept.extend(lines[position : position + length])
            position += length
            continue
        position += 1
        if dropping:
            continue
        indent = len(line) - len(line.lstrip())
        if "examples" in remove:
            in_doctest = bool(line) and (in_doctest or line.lstrip().startswith((">>>", "...")))
        if "references" in remove and line:
            if _FOOTNOTE.match(line):
                footnote_indent = indent
            elif footnote_indent is not None and indent <= footnote_indent:
                footnote_indent = None
        if not in_doctest and footnote_indent is None and (line or (kept and kept[-1])):
            kept.append(line)
    return "\n".join(kept).strip("\n")


def _is_underline(line):
    """Return whether a line without trailing blanks underlines, or overlines, a title."""
    # Most lines end in something else: look before matching.
    return bool(line) and line[-1] in _UNDERLINING and _UNDERLINE.fullmatch(line) is not None


def _title(lines, underlines, position):
    """Return the section title at `position` and its number of lines, or (None, 0)."""
    line = lines[position]
    rubric = _RUBRIC.fullmatch(line) if "rubric" in line else None
    if rubric:
        return rubric.group(1), 1
    if underlines[position]:
        if position + 2 < len(lines) and underlines[position + 2]:
            return lines[position + 1].strip(), 3
    elif line and position + 1 < len(lines) and underlines[position + 1]:
        return line.strip(), 2
    return None, 0


def _without_signature(lines):
    """Drop the call signatures that open the docstring of a compiled function."""
    while lines and re.match(r"[\w.]+\(", lines[0]):
        depths = np.cumsum([line.count("(") - line.count(")") for line in lines])
        closing = next((number for number, depth in enumerate(depths) if depth <= 0), None)
        # Not a signature if the parenthesis never closes, or if prose follows it.
        if closing is None or not re.search(r"\)\s*(->.*)?$", lines[closing]):
            break
        lines = lines[closing + 1 :]
        while lines and lines[0] in ("", "--"):
            lines = lines[1:]
    return lines

"""Snippets of the pages run as a reader would copy them, without a warning, in an empty folder.

A snippet is complete in itself, or goes on from those above it on the page that have ``:class: preamble``.
One that needs another library says so, as in ``:class: needs-gensim``: it is run where that is installed, one
with ``needs-network`` nowhere, and names that do not exist are found everywhere. Files that a snippet writes
are there for those after it on the page. Doctests of a page go on from its preamble too, one from the other.

scikit-learn can return sparse matrices or sparse arrays. All snippets run with matrices, the default. Those
that compute with the counts also run with arrays, after their preamble. The test suite passes both to
estimators and functions.
"""

import ast
import builtins
import copy
import doctest
import functools
import importlib
import inspect
import re
import textwrap
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import sktopic
from sktopic.datasets import load_docstrings
from tests.conftest import sparse_interface  # noqa: F401, a fixture
from tests.pages import written_pages

PAGES = written_pages()

# An indented block below its directive, which may be in a tab, or the lines between fences.
DIRECTIVE = re.compile(
    r"^(?P<indent> *)\.\. code-block:: python\n(?:(?P=indent)    :class: (?P<classes>.+)\n)?\n"
    r"(?P<text>(?:(?:(?P=indent) {4}.*)?\n)+)",
    re.M,
)
FENCES = re.compile(r"^```python(?P<classes>)\n(?P<text>.*?)^```$", re.M | re.S)
# Names of the results of vectorizers
COUNTS = re.compile(r"X|X_\w+|counts")
ANY_FORM = re.compile(
    r"^ *(?:```py|\.\. (?:(?:source)?code(?:-block)?:: *(?:py|ipy)|ipython|testcode))", re.M
)


@dataclass
class Snippet:
    page: Path
    first_line: int  # in the page, counted from 0
    text: str
    classes: list[str]

    @property
    def needs(self):
        return [name.removeprefix("needs-") for name in self.classes if name.startswith("needs-")]

    @property
    def missing(self):
        return [name for name in self.needs if name == "network" or find_spec(name) is None]

    @property
    def tree(self):
        """The parsed snippet, with the lines of the page, which a traceback then shows."""
        return ast.increment_lineno(ast.parse(self.text, str(self.page)), self.first_line)

    def run(self, namespace):
        exec(compile(self.tree, str(self.page), "exec"), namespace)


def snippets(page):
    content = page.read_text(encoding="utf-8")
    form = FENCES if page.suffix == ".md" else DIRECTIVE
    return [
        Snippet(
            page=page,
            first_line=content.count("\n", 0, match.start("text")),
            text=textwrap.dedent(match["text"]),
            classes=(match["classes"] or "").split(),
        )
        for match in form.finditer(content)
    ]


def copy_of(namespace):
    """What a snippet may change without those after it seeing it."""
    return {
        name: value if isinstance(value, ModuleType) else copy.deepcopy(value)
        for name, value in namespace.items()
        if name != "__builtins__"
    }


def names_in(snippet):
    """Names that are read, and those that are bound."""
    nodes = list(ast.walk(snippet.tree))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read, bound = (
        {name.id for name in names if isinstance(name.ctx, kind)} for kind in (ast.Load, ast.Store)
    )
    bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    imported = (node.names for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    bound |= {(alias.asname or alias.name).split(".")[0] for aliases in imported for alias in aliases}
    return read, bound


def computes_with_counts(snippet):
    """Whether the snippet does more with the counts X than pass them, or a slice of them, to a function.

    Pages give the result of a vectorizer one of the names that COUNTS allows.
    """
    tree = snippet.tree
    parent = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
            continue
        if not COUNTS.fullmatch(node.id):
            continue
        around = parent[node]
        if isinstance(around, ast.Attribute) and around.attr == "shape":
            continue
        if isinstance(around, ast.Subscript) and isinstance(around.slice, ast.Slice):
            around = parent[around]
        if isinstance(around, ast.keyword):
            around = parent[around]
        # Functions of NumPy and SciPy compute with the counts.
        if not isinstance(around, ast.Call) or re.match(r"(np|sp)\.", ast.unparse(around.func)):
            return True
    return False


def check_names(snippet, known):
    """All names are known, and what is imported from sktopic exists and has the parameters it is given."""
    read, bound = names_in(snippet)
    unknown = read - bound - known - set(dir(builtins))
    assert not unknown, f"{snippet.page.name}, line {snippet.first_line}: {sorted(unknown)} undefined"
    ours = {}
    for node in ast.walk(snippet.tree):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "sktopic":
            module = importlib.import_module(node.module)
            ours |= {alias.asname or alias.name: getattr(module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ours:
            given = dict.fromkeys(keyword.arg for keyword in node.keywords)
            inspect.signature(ours[node.func.id]).bind_partial(**given)


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """An empty folder, no windows, and one reading of the corpus for all pages."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sktopic.datasets, "load_docstrings", read_once)
    yield
    plt.close("all")


read_once = functools.cache(load_docstrings)


def those_for_arrays(page):
    """The snippets that compute with counts from scikit-learn, and the preambles before them."""
    found = snippets(page) if "Vectorizer" in page.read_text(encoding="utf-8") else []
    computing = [number for number, snippet in enumerate(found) if computes_with_counts(snippet)]
    return [
        snippet
        for number, snippet in enumerate(found[: max(computing, default=-1) + 1])
        if number in computing or "preamble" in snippet.classes
    ]


def run_one_by_one(found):
    """Run snippets, and return the names that preambles have left."""
    preamble, known = {}, set()
    for snippet in found:
        check_names(snippet, known)
        if "preamble" in snippet.classes:
            known |= names_in(snippet)[1]
        if snippet.missing:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if snippet.needs else "error")
            snippet.run(preamble if "preamble" in snippet.classes else copy_of(preamble))
    return preamble


def each_page_with(some):
    return pytest.mark.parametrize("page", list(filter(some, PAGES)), ids=lambda page: page.name)


@each_page_with(snippets)
def test_snippets_run(page, reader):
    preamble = run_one_by_one(snippets(page))
    failures, _ = doctest.testfile(str(page), module_relative=False, globs=copy_of(preamble))
    assert not failures


@each_page_with(those_for_arrays)
@pytest.mark.parametrize("sparse_interface", ["sparray"], indirect=True)
def test_snippets_that_compute_with_counts_run_with_arrays(page, reader, sparse_interface):  # noqa: F811
    run_one_by_one(those_for_arrays(page))


def test_snippets_that_compute_with_counts_are_found():
    only_passed = "lda.fit(X)\nlda.score(X[1::2], n=1)\nplot(X=X)\nprint(X.shape[1])\nX = f()"
    computing = ["X.sum()", "X_test[::2].sum(axis=1)", "lda.transform(X[0])", "lda.fit(2 * X)"]
    computing += ["np.asarray(counts)", "for row in X: print(row)", "y = X"]
    given = [Snippet(PAGES[0], 0, text, []) for text in (only_passed, *computing)]
    assert [snippet.text for snippet in given if computes_with_counts(snippet)] == computing


def test_every_snippet_is_found_and_recipes_are_short():
    """Directives, code and fences are written as `snippets` reads them. A recipe that needs ten lines besides
    imports shows that the interface lacks something."""
    for page in PAGES:
        content = page.read_text(encoding="utf-8")
        if page.suffix == ".md":
            content = re.sub(r"^ {4}.*", "", content, flags=re.M)  # shown, and no code of the page
        found = snippets(page)
        assert len(found) == len(ANY_FORM.findall(content)), page
        maker = r"(?:Count|Hashing|Tfidf)Vectorizer\("
        makers = "|".join([rf"{maker}.*\)", *re.findall(rf"(\w+) = {maker}", content)])
        counts = re.findall(rf"^ *(.+) = (?:{makers})\.(?:fit_)?transform\(", content, re.M)
        assert all(map(COUNTS.fullmatch, counts)), f"{page}: let COUNTS match {counts}"
        if page.name == "recipes.rst":
            long = [each for each in found if len(re.findall(r"^(?!import|from).+", each.text, re.M)) > 9]
            assert not long, f"recipes at lines {[snippet.first_line for snippet in long]}"

"""Makes the pictures in this folder, and what snippets print on the pages that show it.

    python doc/pictures/draw.py [explorer] [choose] [index] [getting_started] [tutorial] [number_of_topics]

`explorer` needs Chromium and playwright: SKTOPIC_BROWSER names the browser, else it is looked for. Texts are
the docstrings of the packages that are installed, so that topics differ a little between versions.
"""

import argparse
import contextlib
import functools
import io
import os
import re
import shutil
import tempfile
import textwrap
import warnings
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent
DOC = FOLDER.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", nargs="*", choices=[[], *PICTURES], help="all if none is named")
    for name in parser.parse_args().pictures or PICTURES:
        PICTURES[name]()


# The page of the explorer, of README.md and the front page.


def explorer():
    """Light and dark."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    from sktopic.datasets import load_docstrings
    from sktopic.inspection import explore
    from sktopic.lda import OnlineEMLDA

    docs = load_docstrings()
    words = CountVectorizer(min_df=5, max_df=0.1, stop_words="english")
    pipe = make_pipeline(words, OnlineEMLDA(n_components=40, random_state=0))
    pipe.fit(docs.data)
    groups = [docs.target_names[number] for number in docs.target]
    page = explore(pipe, docs.data, texts=docs.data, groups=groups, title="Docstrings", n_documents=5)
    shown = pipe[-1].components_[:, words.vocabulary_["fft"]].argmax()
    with tempfile.TemporaryDirectory() as folder:
        page.save(Path(folder) / "topics.html")
        photograph(Path(folder) / "topics.html", shown)


def photograph(page, topic):
    from playwright.sync_api import sync_playwright

    browser_path = os.environ.get("SKTOPIC_BROWSER") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            tab = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
            tab.goto(f"{page.as_uri()}#topic={topic}")
            optimized(tab.screenshot(), FOLDER / f"explorer-{scheme}.png")
        browser.close()


def optimized(png, path):
    """Write it with a palette."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


# The chart of doc/guide/choose.rst. Its colors are those of the theme, light or dark.

# What is asked, the section that answers yes, and the estimators of it.
QUESTIONS = [
    (
        "Should the model find the number of topics?",
        "number",
        ["HybridHDP", "DirectAssignmentHDP", "CollapsedGibbsHDP", "DegenerateDirichletLDA"],
    ),
    (
        "Do topics come, go or drift, or differ widely in size?",
        "change",
        ["HybridHDP", "OnlineEMHDP", "StreamingGibbsLDA"],
    ),
    ("Should author, year or section inform topics?", "covariates", ["DMRLDA"]),
    ("Do you want draws from the exact posterior?", "exact", ["CollapsedGibbsLDA"]),
    (
        "A lower bound, or work begun with scikit-learn or gensim?",
        "bound",
        ["OnlineVariationalLDA", "OnlineVariationalHDP"],
    ),
    (
        "Must the model say how certain topics are?",
        "uncertainty",
        ["StreamingVariationalLDA", "HybridLDA", "LangevinLDA"],
    ),
    ("Proportions without sampling noise?", "deterministic", ["OnlineCVB0LDA"]),
    ("Few topics in each document?", "few", ["OnlineOPELDA"]),
    ("Only one cheap pass?", "pass", ["MomentMatchingLDA", "SinglePassLDA"]),
]
WIDTH, LEFT, RIGHT, LINE, PAD, GAP = 410, 188, 188, 17, 9, 15
STYLE = """
.choose { display: block; width: 100%; max-width: 34rem; margin: 1rem auto 1.5rem; font-family: inherit; }
.choose text { fill: var(--pst-color-text-base, #222); font-size: 12.5px; }
.choose a { text-decoration: none; }
.choose .small { font-size: 12px; fill: var(--pst-color-text-muted, #555); }
.choose .name { font-size: 12px; font-weight: 500; fill: var(--pst-color-link, #0a58ca); }
.choose rect { fill: var(--pst-color-surface, #f3f4f5); stroke: var(--pst-color-border, #ccc); }
.choose a:hover rect, .choose a:focus rect { stroke: var(--pst-color-link, #0a58ca); stroke-width: 2; }
.choose path { stroke: var(--pst-color-text-muted, #555); fill: none; stroke-width: 1.3; }
.choose .head { fill: var(--pst-color-text-muted, #555); stroke: none; }
"""


def choose():
    (FOLDER / "choose.svg").write_text(chart(), encoding="utf-8")


def chart():
    parts, y = [], 1
    for question, section, names in QUESTIONS:
        asked = textwrap.wrap(question, 25)
        height = 2 * PAD + LINE * max(len(asked), len(names))
        middle, x = y + height / 2, WIDTH - RIGHT
        parts += [box(1, y, LEFT, height), *lines(asked, 12, middle)]
        parts += [arrow((LEFT + 1, middle), (x - 1, middle)), word("yes", LEFT + 6, middle - 5)]
        parts += [link(section, box(x, y, RIGHT - 1, height), *lines(names, x + 10, middle, "name"))]
        y += height + GAP
        parts += [arrow((LEFT / 2, y - GAP), (LEFT / 2, y - 1)), word("no", LEFT / 2 + 8, y - 4)]
    height = 2 * PAD + LINE
    parts += [
        link(
            "default",
            box(1, y, WIDTH - 2, height),
            *lines(["OnlineEMLDA"], 12, y + height / 2, "name"),
            word("the default, right for most", 115, y + height / 2 + 4.5),
        )
    ]
    asked = "; ".join(f"{question} {', '.join(names)}" for question, _, names in QUESTIONS)
    label = f"Questions, each with the models to take if the answer is yes. {asked}. No to all: OnlineEMLDA."
    svg = [
        f'<svg class="choose" viewBox="0 0 {WIDTH} {y + height + 1:g}" role="group"',
        f'aria-label="{escape(label)}" xmlns="http://www.w3.org/2000/svg">',
        f"<style>{STYLE}</style>",
        *parts,
        "</svg>",
    ]
    return "\n".join(svg) + "\n"


def box(x, y, width, height):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="7"/>'


def lines(texts, x, middle, kind=""):
    """Of a box, from its middle."""
    first = middle - LINE * (len(texts) - 1) / 2 + 4.5
    for number, text in enumerate(texts):
        yield f'<text class="{kind}" x="{x:g}" y="{first + LINE * number:g}">{escape(text)}</text>'


def word(text, x, y):
    return f'<text class="small" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def link(section, *parts):
    return "\n".join([f'<a href="#choose-{section}">', *parts, "</a>"])


def arrow(start, end):
    """To the right or down."""
    (x, y), (to_x, to_y) = start, end
    tip = f"{to_x:g},{to_y:g}"
    back = [(-6, -3.5), (-6, 3.5)] if y == to_y else [(-3.5, -6), (3.5, -6)]
    corners = " ".join(f"{to_x + dx:g},{to_y + dy:g}" for dx, dy in back)
    return f'<path d="M{x:g},{y:g} L{tip}"/>\n<polygon class="head" points="{tip} {corners}"/>'


# What snippets print and draw, of the pages that show it.

# A snippet that others go on from, which may be in a column of a grid.
STEP = re.compile(r"^( *)\.\. code-block:: python\n\1    :class: preamble\n\n((?:(?:\1 {4}.*)?\n)+)", re.M)


def show(name):
    """What each step of a page prints, and the figure of its variable `axes`, by the number of the step."""
    import matplotlib as mpl

    mpl.use("Agg")
    results = FOLDER / Path(name).name
    results.mkdir(exist_ok=True)
    page = (DOC / f"{name}.rst").read_text(encoding="utf-8")
    namespace = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, (_, step) in enumerate(STEP.findall(page), 1):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(textwrap.dedent(step), namespace)
            if printed.getvalue():
                (results / f"{number}.txt").write_text(printed.getvalue(), encoding="utf-8")
            if "axes" in namespace:
                png = io.BytesIO()
                namespace.pop("axes")[0].figure.savefig(png, dpi=100)
                optimized(png.getvalue(), results / f"{number}.png")


PAGES = "index", "getting_started", "tutorial", "guide/number_of_topics"
PICTURES = {"explorer": explorer, "choose": choose}
PICTURES |= {Path(name).name: functools.partial(show, name) for name in PAGES}

if __name__ == "__main__":
    main()

"""The explorer's page in a real browser: Chromium without a window, driven by playwright.

Skipped where one of them is missing, unless the environment variable SKTOPIC_BROWSER names the browser.
"""

import json
import os
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from sktopic.datasets import make_bars
from sktopic.inspection import explore, name_topics
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import coherence
from tests.test_explorer import HOSTILE

VARIABLE = "SKTOPIC_BROWSER"
BROWSER = os.environ.get(VARIABLE) or next(
    filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None
)
if VARIABLE in os.environ:
    from playwright.sync_api import expect, sync_playwright
else:
    if not BROWSER:
        pytest.skip("no Chromium is installed", allow_module_level=True)
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    expect, sync_playwright = playwright.expect, playwright.sync_playwright

BOXES = "all => all.map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.top, b.right, b.bottom])"
WORDS = [f"word{number}" for number in range(25)]


@pytest.fixture(scope="module")
def window():
    """The page of a browser in which tests open theirs, and what it asked for or complained of."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page, complaints = browser.new_page(), []
        page.set_default_timeout(5000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("request", lambda request: complaints.append(request.url))
        yield page, complaints
        browser.close()


@pytest.fixture
def show(window, tmp_path):
    """Open a page; at the end, it must have loaded nothing and reported no error."""
    page, complaints = window

    def open_page(explorer, address="", width=1280, height=800, **media):
        path = tmp_path / "topics.html"
        explorer.save(path)
        page.goto("about:blank")  # an address that differs behind # alone would not load it again
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(**{"color_scheme": "light", "reduced_motion": "no-preference", **media})
        page.mouse.move(0, 0)
        complaints.clear()
        page.goto(path.as_uri() + address)
        complaints.remove(path.as_uri())
        return page

    open_page.complaints = complaints
    yield open_page
    assert complaints == []


@pytest.fixture(scope="module")
def bars():
    """A model with documents of everything that a page can show."""
    X = make_bars(120, random_state=0).data
    counts = X.toarray().astype(int)
    model = OnlineEMLDA(n_components=6, random_state=0).fit(X)
    name_topics(model, {4: "named"})
    return SimpleNamespace(
        model=model,
        X=X,
        texts=[" ".join(np.repeat(WORDS, row)) for row in counts],
        years=2000 + np.arange(120) // 10,
        groups=np.array(["north", "south", "east"])[np.arange(120) % 3],
    )


@pytest.fixture(scope="module")
def full(bars):
    return explore(bars.model, bars.X, WORDS, bars.texts, bars.years, bars.groups, title="Bars")


def test_all_parts_are_there_and_follow_the_model(show, full, bars):
    page = show(full)
    expect(page).to_have_title("Bars")
    expect(page.get_by_role("heading", name="Bars")).to_be_visible()
    for name in "Map of topics", "Topics":
        options = page.get_by_role("listbox", name=name, exact=True).get_by_role("option")
        expect(options).to_have_count(6)
    first = coherence(bars.model, bars.X, per_topic=True).argmax()
    expect(page.get_by_role("option", name=f"Topic {first}:", selected=True)).to_have_count(2)
    expect(page.get_by_role("img", name=f"Share of topic {first}: ")).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(10)
    has_name = "all => all.map((e) => Boolean(e.ariaLabel || e.innerText || e.labels?.length))"
    assert all(page.locator("button, input").evaluate_all(has_name))
    # Words follow the slider.
    page.get_by_role("listbox", name="Topics", exact=True).get_by_role("option", name="Topic 3:").click()
    theta, lengths = bars.model.transform(bars.X), np.asarray(bars.X.sum(axis=1)).ravel()
    expected = lengths @ theta / lengths.sum() @ bars.model.components_
    for weight in 0.6, 0.0, 1.0:
        page.get_by_role("slider", name="Relevance").fill(str(weight))
        log_p = np.log(bars.model.components_[3])
        order = np.argsort(-(log_p - (1 - weight) * np.log(expected)))
        shown = page.locator("#word-list bdi").all_text_contents()
        assert shown[:4] == [WORDS[word] for word in order[:4]]
    # Words of texts have the color of their topic.
    row = int(theta[:, 3].argmax())
    marks = page.locator(f"#document-{row} .mark")
    topics = (theta[row][:, None] * bars.model.components_).argmax(axis=0)
    shown = marks.evaluate_all("marks => marks.map((m) => [m.textContent, Number(m.dataset.topic)])")
    assert shown == [[word, topics[WORDS.index(word)]] for word in bars.texts[row].split()]
    expect(page.locator(f"#document-{row} .mark.color-0").first).to_be_visible()
    page.locator("#legend button").first.click()
    expect(page.locator("#document-list.singles .single").first).to_have_class("mark color-0 single")


def test_keyboard(show, full, bars):
    lengths = np.asarray(bars.X.sum(axis=1)).ravel()
    order = np.argsort(-(lengths @ bars.model.transform(bars.X))).tolist()  # by size
    page = show(full, f"#topic={order[0]}")
    heading = page.locator("#topic-number")
    page.keyboard.press("ArrowRight")
    expect(heading).to_have_text(f"Topic {order[1]}")
    page.keyboard.press("ArrowLeft")
    expect(heading).to_have_text(f"Topic {order[0]}")
    page.get_by_role("listbox", name="Topics", exact=True).get_by_role("option", selected=True).focus()
    page.keyboard.press("End")
    expect(heading).to_have_text(f"Topic {order[-1]}")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert page.evaluate("location.hash") == f"#topic={order[-1]}"
    page.get_by_role("listbox", name="Map of topics").get_by_role("option", selected=True).focus()
    chosen, steps = "#plane [aria-selected=true] circle", []
    for key, direction in 2 * [("Left", (-1, 0)), ("Up", (0, -1)), ("Right", (1, 0)), ("Down", (0, 1))]:
        before = np.array(page.locator(chosen).evaluate_all(BOXES)).reshape(2, 2).mean(axis=0)
        page.keyboard.press(f"Arrow{key}")
        after = np.array(page.locator(chosen).evaluate_all(BOXES)).reshape(2, 2).mean(axis=0)
        steps.append((after - before) @ direction)
    assert min(steps) > -1 and np.count_nonzero(np.array(steps) > 1) >= 4  # pixels; none at the edges
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith(heading.text_content() + ":")
    assert focused == page.locator("#plane [aria-selected=true]").get_attribute("aria-label")
    page.keyboard.press("/")
    page.keyboard.type("word7")
    expect(page.locator("#results [aria-selected=true]")).to_contain_text("word7")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("#word-topics")).to_contain_text("word7: ")
    expect(page.get_by_role("button", name="word7", pressed=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#word-topics")).to_be_hidden()


def test_search_finds_topics_words_and_documents(show, full, bars):
    page = show(full)
    results = page.get_by_role("listbox", name="Search results")
    search = page.get_by_role("combobox", name="Search words, topics and documents")
    search.fill("named")
    results.get_by_role("option", name="Topic 4").click()
    expect(page.get_by_role("heading", name="named")).to_be_visible()
    search.fill("topic 3")
    search.press("Enter")
    expect(page.locator("#topic-number")).to_have_text("Topic 3")
    row = int(bars.model.transform(bars.X)[:, 5].argmax())
    for text in (str(row), f"Document {row}"):
        search.fill(text)
        results.get_by_role("option", name=f"Document {row}").click()
        assert page.evaluate("document.activeElement.id") == f"document-{row}"
    search.fill("nowhere")
    expect(results).to_have_text("Nothing found in this page")
    search.press("Escape")
    expect(results).to_be_hidden()


def test_hostile_text_is_shown_as_it_is_and_does_nothing(show):
    texts = [f"WORD {text}" for text in HOSTILE] + ["word <b>" + "x" * 1_000_000]
    names = ["word", *HOSTILE, "x"]
    X = np.eye(len(texts), len(names), k=1, dtype=int) + (np.arange(len(names)) == 0)
    model = OnlineEMLDA(n_components=2, max_iter=1, random_state=0).fit(X)
    name_topics(model, [HOSTILE[4], HOSTILE[2]])
    explorer = explore(model, X, names, texts, groups=[*HOSTILE, "plain"], n_documents=20, title=HOSTILE[0])
    assert len(explorer.html) < 1e6
    page = show(explorer)

    def shown(place):
        texts = page.locator(place).evaluate_all("all => JSON.stringify(all.map((e) => e.textContent))")
        return json.loads(texts)

    numbers = page.locator("#document-list article").evaluate_all("all => all.map((e) => e.id.slice(9))")
    assert dict(zip(map(int, numbers), shown("#document-list .text"))) == {
        row: text.strip()[:3000] for row, text in enumerate(texts)
    }
    assert shown("#document-list .mark").count("WORD") == len(HOSTILE)
    expect(page.get_by_text("more characters not in this page")).to_have_count(2)
    assert sorted(shown("#group-list .name")) == sorted([*HOSTILE, "plain"])
    assert set(shown("#word-list bdi")) == set(names)
    for text in "<img", "<script", "שלום", "🎉":
        page.get_by_role("combobox").fill(text)
        expect(page.get_by_role("option").filter(has_text=text).first).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelectorAll('img, b, script').length") == 2
    # A script that gets in nevertheless would not run, nor reach a network.
    assert show.complaints == []
    page.evaluate(
        "const script = document.createElement('script'); script.textContent = 'window.hacked = 1';"
        "document.body.append(script)"
    )
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("fetch('https://example.org').then(() => 'fetched', () => 'refused')") == "refused"
    # Reports of what was refused; a request would be its address.
    assert all("Content Security Policy" in complaint for complaint in show.complaints)
    show.complaints.clear()


@pytest.fixture(scope="module")
def many():
    """A page of 60 topics of different sizes, some with names."""
    rng = np.random.default_rng(0)
    components = rng.dirichlet(np.full(400, 0.05), 60)
    theta = rng.dirichlet(rng.gamma(0.5, size=60) + 1e-3, 200)
    X = rng.poisson(100 * theta @ components)
    model = OnlineEMLDA(n_components=60, max_iter=3, random_state=0).fit(X)
    name_topics(model, {3: "a long name of several words", 7: "名称", 9: "name"})
    return explore(model, X, [f"word{number}" for number in range(400)], groups=np.arange(200) % 9)


@pytest.mark.parametrize("width", [400, 1600])
def test_labels_cover_no_circle_and_no_other_label(show, many, width):
    page = show(many, width=width)
    page.locator(".word").first.click()
    labels = np.array(page.locator("#plane .label:not(:empty)").evaluate_all(BOXES))
    circles = np.array(page.locator("#plane circle").evaluate_all(BOXES))
    left, top, right, bottom = np.array(page.locator("#plane svg").evaluate_all(BOXES))[0]
    assert len(circles) == 60 and len(labels) >= 8
    assert np.all(labels[:, :2] > [left - 1, top - 1]) and np.all(labels[:, 2:] < [right + 1, bottom + 1])
    overlap = np.minimum(labels[:, None, 2:], labels[:, 2:]) - np.maximum(labels[:, None, :2], labels[:, :2])
    assert not np.any(np.triu(overlap.min(axis=2) > 1, 1))
    centers, radii = (circles[:, :2] + circles[:, 2:]) / 2, (circles[:, 2] - circles[:, 0]) / 2
    nearest = np.clip(centers[:, None], labels[:, :2], labels[:, 2:])
    assert np.all(np.sqrt(((nearest - centers[:, None]) ** 2).sum(axis=2)) > radii[:, None] - 1)


def test_labels_and_circles_choose_topics(show, many):
    page = show(many)
    marks = page.locator("#plane .topic")
    labeled = marks.filter(has=page.locator(".label:not(:empty)")).nth(3)
    name = labeled.get_attribute("aria-label")
    labeled.locator(".label").click()
    expect(page.get_by_role("option", name=name, selected=True)).to_have_count(2)
    # One without a label shows its name, by mouse and by keyboard.
    unlabeled = marks.filter(has=page.locator(".label:empty")).first
    name = unlabeled.get_attribute("aria-label")
    unlabeled.locator("circle").hover()
    called, share = page.locator("#tip").text_content().split(" · ")
    assert f"Topic {called.replace(' ', ': ', 1)}, {share} of tokens" == name
    page.mouse.move(0, 0)
    expect(page.locator("#tip")).to_be_hidden()
    page.keyboard.press("Tab")
    unlabeled.focus()
    expect(page.locator("#tip")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("option", name=name, selected=True)).to_have_count(2)


@pytest.mark.parametrize("k", [2, 4])
def test_a_topic_has_one_name(show, full, k):
    page = show(full, f"#topic={k}")
    title = page.locator("#topic-heading").text_content()
    assert title == "named" if k == 4 else len(title.split(", ")) == 3
    for part in "#plane", "#topics":
        label = page.locator(f"{part} [aria-selected=true]").get_attribute("aria-label")
        assert label.startswith(f"Topic {k}: {title}, ")
    page.get_by_role("combobox").fill(f"topic {k}")
    for place, text in (
        ("#plane .chosen .label", title),
        ("#topics [aria-selected=true] .name", title),
        ("#legend button >> nth=0", f"{k}{title}"),
        ("#results [role=option] >> nth=0", f"Topic {k}{title}"),
    ):
        assert page.locator(place).text_content() == text
    assert page.locator(".of-topic").all_text_contents() == [f"{k} {title}"] * 2
    for place, attribute in (
        ("#time svg", "aria-label"),
        (f".mark[data-topic='{k}'] >> nth=0", "title"),
        (".strip >> nth=0", "aria-label"),
    ):
        assert f"topic {k}: {title}" in page.locator(place).get_attribute(attribute)


def test_courses_and_a_long_list_are_in_sight(show, full, many):
    page = show(full)
    boxes = page.locator("#time, #groups, #word-list li:nth-child(5)").evaluate_all(BOXES)
    assert len(boxes) == 3 and max(bottom for *_, bottom in boxes) < 800
    page = show(many, width=900)
    ((*_, bottom),) = page.locator("#topics").evaluate_all(BOXES)
    rows = np.array(page.locator("#topics li").evaluate_all(BOXES))
    assert bottom < 800 and np.count_nonzero(rows[:, 3] <= bottom) >= 8
    assert page.evaluate("document.documentElement.scrollWidth") == 900
    room = "all => all.map((e) => e.clientWidth - e.scrollWidth)"
    assert min(page.locator("#topics .name").evaluate_all(room)) >= 0


def test_narrow_dark_and_still(show, full):
    page = show(full, width=390, color_scheme="dark", reduced_motion="reduce")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", color))) < 64
    assert page.evaluate("getComputedStyle(document.querySelector('circle')).transitionDuration") == "0s"
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    circles = np.array(page.locator("#plane circle").evaluate_all(BOXES))
    assert circles[:, 0].min() >= 0 and circles[:, 2].max() <= 390


def test_wide_intervals_and_small_shares_stay_in_their_columns(show, bars):
    """And why words are not marked is said."""
    groups = np.where(np.arange(120) < 2, "two", "many")
    page = show(explore(bars.model, bars.X, [f"other{word}" for word in WORDS], bars.texts, groups=groups))
    expect(page.get_by_text("Words are not marked: none of the counted words")).to_be_visible()
    expect(page.locator("#legend")).to_be_hidden()
    parts = "bars => bars.map((bar) => bar.getBoundingClientRect().width / bar.parentElement.clientWidth)"
    assert max(page.locator("#group-list .fill").evaluate_all(parts)) > 0.6
    ends = "all => all.map((w) => w.offsetLeft + w.offsetWidth - w.parentElement.clientWidth)"
    assert max(page.locator("#group-list .whisker").evaluate_all(ends)) <= 1
    heights = "all => all.map((e) => { e.textContent = '< 0.1%'; return e.getBoundingClientRect().height; })"
    assert max(page.locator(".share, .amount").evaluate_all(heights)) < 25


def test_notebooks_show_it_in_a_frame_of_its_own(window, full):
    page, complaints = window
    page.goto("about:blank")
    complaints.clear()
    page.set_content(f"<h1>Notebook</h1><script>var data = 1</script>{full._repr_html_()}")
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="Bars")).to_be_visible()
    before = frame.locator("#topic-number").text_content()
    frame.get_by_role("button", name="Next topic").click()
    expect(frame.locator("#topic-number")).not_to_have_text(before)
    assert page.evaluate("data") == 1 and page.url == "about:blank" and not complaints


@pytest.mark.parametrize(
    ("dates", "first", "last", "width"),
    [
        (["2015-01-01", "2018-01-01", "2018-07-01", "2018-10-01"], "2015-Q1", "2018-Q1", 1280),
        (["2015-01-01", "2018-01-01", "2018-02-01", "2018-03-01"], "2015-01", "2018-01", 400),
        (["2015-01-01", "2018-01-01", "2019-01-01", "2020-01-01"], "2015", "2020", 1280),
        (["2015-01-01", "2015-01-02", "2018-07-01", "2018-07-03"], "2015-01-01", "2018-07-01", 400),
    ],
)
def test_labels_of_periods_are_short_and_do_not_touch(show, bars, dates, first, last, width):
    explorer = explore(bars.model, bars.X, dates=np.resize(dates, 120), groups=bars.groups)
    page = show(explorer, width=width)
    labels = page.locator("#time .period")
    expect(labels.first).to_have_text(first)
    boxes = np.array(labels.evaluate_all(BOXES))
    assert (boxes[1:, 0] - boxes[:-1, 2] >= 6).all()
    ((left, _, right, _),) = page.locator("#time svg").evaluate_all(BOXES)
    assert left <= boxes[:, 0].min() and boxes[:, 2].max() <= right
    assert last in labels.all_text_contents()


def test_the_smallest_page(show):
    model = OnlineEMLDA(n_components=1, random_state=0).fit([[3]])
    page = show(explore(model, [[2]], n_documents=0))
    expect(page.locator("#topic-number")).to_have_text("Topic 0")
    expect(page.locator("#word-list li")).to_have_count(1)
    for part in "#documents", "#time", "#groups":
        expect(page.locator(part)).to_be_hidden()
    page.keyboard.press("ArrowRight")
    page.locator("#plane .topic").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#topic-number")).to_have_text("Topic 0")

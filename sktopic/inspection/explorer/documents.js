// The documents of the chosen topic, with their words in the colors of topics.

const LONG_TEXT = 700;
const MANY_WORDS = 60;

const documentList = byId("document-list");
const legend = byId("legend");

function marked(text, k) {
  const mark = element("span", { class: `mark ${colorClass(k)}`, title: calledTopic(k) }, text);
  mark.dataset.topic = k;
  return mark;
}

// A text with marks: triples of the length before a word, that of the word, and its topic.
function markedText({ text, marks: spans }) {
  const nodes = [];
  let end = 0;
  for (const [before, length, k] of triples(spans)) {
    const start = end + before;
    if (before) nodes.push(text.slice(end, start));
    end = start + length;
    nodes.push(marked(text.slice(start, end), k));
  }
  nodes.push(text.slice(end));
  return nodes;
}

// The words of a document without text, those of its largest topics first.
function markedWords({ words: cells, topics: proportions }) {
  const order = new Map(proportions.map(([k], i) => [k, i]));
  const rank = (k) => order.get(k) ?? order.size;
  const sorted = triples(cells).sort((a, b) => rank(a[2]) - rank(b[2]) || a[2] - b[2] || b[1] - a[1]);
  return sorted.flatMap(([word, count, k]) => {
    const mark = marked("", k);
    mark.append(isolated(words.names[word]));
    if (count !== 1) mark.append(element("small", {}, ` ${number(count)}`));
    return [mark, " "];
  });
}

function showDocument(d) {
  const entry = data.documents[d];
  const facts = [entry.group, entry.period, counted(entry.tokens, "token")].filter((fact) => fact !== undefined);
  const proportions = entry.topics.map(([k, share]) => `${percent(share)} ${calledTopic(k)}`).join("; ");
  const strip = element("span", { class: "strip", role: "img", "aria-label": proportions, title: proportions });
  for (const [k, share] of entry.topics) strip.append(bar(colorClass(k), share));
  const hasText = entry.text !== undefined;
  const body = element("div", { class: hasText ? "text" : "text bag", dir: "auto" });
  body.append(...(hasText ? markedText(entry) : markedWords(entry)));
  const article = element(
    "article",
    { id: `document-${entry.row}`, tabindex: "-1", "aria-label": `Document ${entry.row}` },
    element(
      "header",
      {},
      element("h3", {}, `Document ${entry.row}`),
      element("p", {}, ...facts.flatMap((fact, i) => (i ? [" · ", isolated(fact)] : [isolated(fact)]))),
      strip,
    ),
    body,
  );
  if (entry.omitted) {
    const what = hasText ? "character" : "word";
    article.append(element("p", { class: "hint" }, `${counted(entry.omitted, `more ${what}`)} not in this page`));
  }
  if (hasText ? entry.text.length > LONG_TEXT : entry.words.length > 3 * MANY_WORDS) {
    body.classList.add("folded");
    const button = element("button", { type: "button", class: "unfold", "aria-expanded": "false" }, "Show all");
    button.addEventListener("click", () => {
      const folded = body.classList.toggle("folded");
      button.textContent = folded ? "Show all" : "Show less";
      button.setAttribute("aria-expanded", String(!folded));
    });
    article.append(button);
  }
  return article;
}

function showLegend() {
  const buttons = [...colors.keys()].map((k) => {
    const button = element(
      "button",
      { type: "button", class: colorClass(k), "aria-pressed": String(state.single === k) },
      element("span", { class: "mark sample", "aria-hidden": "true" }, String(k)),
      element("span", { class: "name", dir: "auto" }, titleOf(k)),
    );
    button.addEventListener("click", () => update({ single: state.single === k ? null : k }));
    return button;
  });
  legend.replaceChildren(...buttons, element("span", { class: "others" }, "gray: other topics"));
}

// With a topic singled out, words of the others fade.
function showSingle() {
  documentList.classList.toggle("singles", state.single !== null);
  for (const mark of documentList.querySelectorAll(".mark")) {
    mark.classList.toggle("single", Number(mark.dataset.topic) === state.single);
  }
  [...colors.keys()].forEach((k, i) => legend.children[i].setAttribute("aria-pressed", String(state.single === k)));
}

function goToDocument(d) {
  const article = byId(`document-${data.documents[d].row}`);
  article.scrollIntoView({ block: "start" });
  article.focus({ preventScroll: true });
}

if (data.documents.length === 0) byId("documents").hidden = true;
if (data.unmarked) byId("marking").textContent = data.unmarked;
legend.hidden = Boolean(data.unmarked);
views.push((changed) => {
  if (changed.has("topic")) {
    const chosen = byId("chosen");
    if (chosen.getBoundingClientRect().top < 0) chosen.scrollIntoView();
    showLegend();
    documentList.replaceChildren(...topics[state.topic].documents.map(showDocument));
  }
  if (changed.has("single")) showSingle();
});

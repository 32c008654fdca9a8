// Search over topics, words and the documents of the page.

const MOST_RESULTS = { topics: 4, words: 8, documents: 6 };

const query = byId("query");
const results = byId("results");
let found = []; // what Enter does for each result
let active = -1;

const namesInLowerCase = words.names.map((name) => name.toLowerCase());

// Topics whose lists a document is in; the one with its largest proportion is chosen with it.
const topicsOfDocument = data.documents.map(() => []);
topics.forEach((topic, k) => topic.documents.forEach((d) => topicsOfDocument[d].push(k)));

function topicForDocument(d) {
  const proportions = new Map(data.documents[d].topics);
  if (topicsOfDocument[d].includes(state.topic)) return state.topic;
  return topicsOfDocument[d].toSorted((a, b) => (proportions.get(b) ?? 0) - (proportions.get(a) ?? 0))[0];
}

function matchingWords(text) {
  const starts = [];
  const contains = [];
  namesInLowerCase.forEach((name, word) => {
    const at = name.indexOf(text);
    if (at === 0) (name === text ? starts.unshift(word) : starts.push(word));
    else if (at > 0) contains.push(word);
  });
  return [...starts, ...contains].slice(0, MOST_RESULTS.words);
}

function matchingTopics(text) {
  return bySize
    .filter((k) => [`${k}`, `topic ${k}`].includes(text) || (isNamed[k] && topics[k].name.toLowerCase().includes(text)))
    .slice(0, MOST_RESULTS.topics);
}

function matchingDocuments(text) {
  // The document of that number first, which those that have the number in their text would crowd out.
  const numbered = data.documents.findIndex(({ row }) => [`${row}`, `document ${row}`].includes(text));
  const matching = numbered < 0 ? [] : [{ d: numbered, excerpt: beginning(data.documents[numbered]) }];
  for (let d = 0; d < data.documents.length && matching.length < MOST_RESULTS.documents; d++) {
    const excerpt = d === numbered ? null : excerptOf(data.documents[d], text);
    if (excerpt !== null) matching.push({ d, excerpt });
  }
  return matching;
}

function beginning(entry) {
  return entry.text === undefined ? "" : shortened(entry.text.trim(), 60);
}

// What a document says around a text; null if that is not in it.
function excerptOf(entry, text) {
  if (entry.text === undefined) {
    const cell = triples(entry.words).find(([word]) => namesInLowerCase[word].startsWith(text));
    return cell === undefined ? null : `${words.names[cell[0]]} ${number(cell[1])}`;
  }
  const at = entry.text.toLowerCase().indexOf(text);
  if (at < 0) return null;
  const from = Math.max(0, at - 24);
  return `${from ? "…" : ""}${shortened(entry.text.slice(from, at + 60), 70)}`;
}

function showResults() {
  const text = query.value.trim().toLowerCase();
  found = [];
  active = -1;
  results.replaceChildren();
  if (text === "") {
    closeResults();
    return;
  }
  addResults("Topics", matchingTopics(text), (k) => [`Topic ${k}`, titleOf(k), () => update({ topic: k })]);
  addResults("Words", matchingWords(text), (word) => {
    const pairs = words.topics[word];
    const facts = pairs.length ? `${pairs[1]}% in ${calledTopic(pairs[0])}` : "";
    return [words.names[word], facts, () => update({ word, ...(pairs.length && { topic: pairs[0] }) })];
  });
  addResults("Documents", matchingDocuments(text), ({ d, excerpt }) => [
    `Document ${data.documents[d].row}`,
    excerpt,
    () => {
      update({ topic: topicForDocument(d) });
      goToDocument(d);
    },
  ]);
  if (found.length === 0) results.append(element("p", { class: "hint" }, "Nothing found in this page"));
  results.hidden = false;
  query.setAttribute("aria-expanded", "true");
  activate(found.length ? 0 : -1);
}

function addResults(title, items, describeItem) {
  if (items.length === 0) return;
  const heading = `results-${title.toLowerCase()}`;
  const group = element("div", { role: "group", "aria-labelledby": heading }, element("h3", { id: heading }, title));
  for (const item of items) {
    const [name, facts, act] = describeItem(item);
    const option = element(
      "div",
      { role: "option", id: `result-${found.length}`, "aria-selected": "false" },
      isolated(name),
      element("span", { class: "facts", dir: "auto" }, facts),
    );
    const place = found.length;
    option.addEventListener("mousedown", (event) => event.preventDefault()); // which would take the focus
    option.addEventListener("click", () => take(place));
    group.append(option);
    found.push(act);
  }
  results.append(group);
}

function activate(place) {
  const options = results.querySelectorAll("[role=option]");
  options[active]?.setAttribute("aria-selected", "false");
  active = place;
  query.setAttribute("aria-activedescendant", place < 0 ? "" : `result-${place}`);
  options[place]?.setAttribute("aria-selected", "true");
  options[place]?.scrollIntoView({ block: "nearest" });
}

function take(place) {
  const act = found[place];
  closeResults();
  query.value = "";
  query.blur();
  act();
}

function closeResults() {
  results.hidden = true;
  query.setAttribute("aria-expanded", "false");
  query.setAttribute("aria-activedescendant", "");
}

query.addEventListener("input", showResults);
query.addEventListener("focus", showResults);
query.addEventListener("blur", closeResults);
query.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && active >= 0 && !results.hidden) {
    take(active);
  } else if (event.key === "Escape") {
    query.value = "";
    query.blur();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && found.length) {
    event.preventDefault();
    activate((active + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length);
  }
  event.stopPropagation();
});

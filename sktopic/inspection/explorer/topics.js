// What is shown, and what is chosen: the state of the page and the views that follow it.

const data = JSON.parse(byId("data").textContent);
const { topics, words } = data;

// How many topics of the documents at hand have a color of their own beside the chosen one's.
const N_COLORS = 7;

// Topics by share, the largest first, and the place of each in this order.
const bySize = topics.map((_, k) => k).sort((a, b) => topics[b].share - topics[a].share || a - b);
const placeOf = new Map(bySize.map((k, place) => [k, place]));

const state = { topic: data.first, word: null, lambda: 0.6, single: null };
const views = [];

// Take over what changed, and let every view follow; those that did not change look at `changed`.
function update(change) {
  const changed = new Set(Object.keys(change).filter((name) => change[name] !== state[name]));
  if (changed.has("topic") && !("single" in change)) {
    change = { ...change, single: null };
    changed.add("single");
  }
  Object.assign(state, change);
  if (changed.size) for (const view of views) view(changed);
}

// Words of a topic by relevance (Sievert and Shirley, 2014), the first ones of those in the page.
function relevantWords(k, lambda, n = data.words_shown) {
  const topic = topics[k];
  return topic.words
    .map((word, i) => {
      const p = topic.probabilities[i];
      const overall = Math.max(words.tokens[word], Number.MIN_VALUE) / data.n_tokens;
      return { word, p, relevance: Math.log(p) - (1 - lambda) * Math.log(overall) };
    })
    .sort((a, b) => b.relevance - a.relevance)
    .slice(0, n);
}

const isNamed = topics.map((topic, k) => topic.name !== `Topic ${k}`);
const firstWords = topics.map((_, k) => relevantWords(k, 0.6, 3).map(({ word }) => words.names[word]));

// The one name of a topic, which always has its number with it: the given name, or its most relevant words.
function titleOf(k) {
  return isNamed[k] ? topics[k].name : firstWords[k].join(", ") || "no words";
}

// The name and number in a line of text.
function calledTopic(k) {
  return `topic ${k}: ${titleOf(k)}`;
}

// The same for the eye: the number stands out.
function numberAndTitle(k) {
  return [element("strong", {}, String(k)), " ", isolated(titleOf(k))];
}

function describe(k) {
  return `Topic ${k}: ${titleOf(k)}, ${percent(topics[k].share)} of tokens`;
}

// The number of the color of each topic: 0 for the chosen one, then those it shares its documents with.
let colors = new Map();

function assignColors() {
  const totals = new Map();
  for (const d of topics[state.topic].documents) {
    for (const [k, proportion] of data.documents[d].topics) {
      totals.set(k, (totals.get(k) ?? 0) + proportion);
    }
  }
  totals.delete(state.topic);
  const others = [...totals].sort((a, b) => b[1] - a[1]).slice(0, N_COLORS).map(([k]) => k);
  colors = new Map([state.topic, ...others].map((k, i) => [k, i]));
}

function colorClass(k) {
  return colors.has(k) ? `color-${colors.get(k)}` : "color-none";
}

views.push((changed) => {
  if (changed.has("topic")) assignColors();
});

/* The search of these pages, on Sphinx's index: it asks for most words of a query, not for all.
 *
 * First come sections (and pages) whose title, or entry of the index, says what the query says, then pages and names
 * that have its words. Rare words weigh more. doc/search_words.txt has queries, and where each must lead.
 */
"use strict";

const MOST_HITS = 20;
const EXCERPT = 240; // characters
const ALIKE = 0.5; // least agreement of a title or entry with the query, from 0 to 1

// Where two pages answer as well, the one that more readers want comes first.
const weightOfPage = (name) => {
  if (/^(changelog|contributing|architecture)$/.test(name)) return 0.7;
  if (/^research\//.test(name)) return 0.8;
  return /^(auto_examples|generated)\//.test(name) ? 0.9 : 1;
};

const stemmer = new Stemmer();

/* The words of a text that tell something, and how Sphinx's index has them. */
const plain = (text) => splitQuery(text.toLowerCase());
const isCommon = (text) => plain(text).every((word) => stopwords.has(word));
const telling = (text) => {
  const all = plain(text);
  return [...new Set(isCommon(text) ? all : all.filter((word) => !stopwords.has(word)))];
};
const stemsOf = (text) => [...new Set(telling(text).map((word) => stemmer.stemWord(word)))];

const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/* What Sphinx's index holds, as the search needs it. */
function readIndex(index) {
  const places = new Map(); // sections and pages: title, and phrases that say what is found there
  const at = (page, id) => `${page}#${id || ""}`;
  for (const [title, found] of Object.entries(index.alltitles))
    for (const [page, id] of found)
      places.set(at(page, id), { page, id, title, phrases: [{ words: stemsOf(title), trust: 0.9 }] });
  for (const [entry, found] of Object.entries(index.indexentries))
    for (const [page, id, isMain] of found)
      places.get(at(page, id))?.phrases.push({ words: stemsOf(entry), trust: isMain ? 1 : 0.95 });

  const pages = new Map(); // of each word, the pages that have it
  const add = (word, page) => pages.set(word, (pages.get(word) || new Set()).add(page));
  for (const terms of [index.terms, index.titleterms])
    for (const [word, found] of Object.entries(terms)) [found].flat().forEach((page) => add(word, page));
  for (const { page, phrases } of places.values())
    for (const { words } of phrases) words.forEach((word) => add(word, page));

  const weights = new Map();
  for (const [word, found] of pages) weights.set(word, Math.log(1 + index.docnames.length / found.size));
  return { places: [...places.values()], pages, weights };
}

/* Words of the query with what each may stand for: itself, or words that begin with it where no page has it. */
function understand(query, { pages, weights }) {
  return telling(query).map((word) => {
    const stem = stemmer.stemWord(word);
    const begun = stem.length > 2 ? [...pages.keys()].filter((other) => other.startsWith(stem)) : [];
    const meant = pages.has(stem) ? [stem] : begun;
    return { word, meant, weight: Math.max(0, ...meant.map((each) => weights.get(each))) };
  });
}

/* Hits as Sphinx shows them, the best first, and what the reader should know of them. */
Search.find = (query) => {
  const index = Search._index;
  const read = (Search._read ||= readIndex(index));
  const asked = understand(query, read), common = isCommon(query);
  const known = asked.filter(({ meant }) => meant.length);
  const unknown = asked.filter(({ meant }) => !meant.length && !common).map(({ word }) => word);
  const sought = total(known.map(({ weight }) => weight));
  const shared = (has) => total(known.filter(({ meant }) => meant.some(has)).map(({ weight }) => weight));

  const hits = [];
  const add = (page, title, id, about, score, kind) => {
    const name = index.docnames[page];
    hits.push([name, title, id ? "#" + id : "", about, score, index.filenames[page], kind]);
  };
  for (const { page, id, title, phrases } of read.places) {
    const alike = phrases.map(({ words, trust }) => {
      const said = total(words.map((word) => read.weights.get(word)));
      return (2 * trust * shared((word) => words.includes(word))) / (sought + said);
    });
    const best = Math.max(...alike);
    const weight = best > 0.999 ? 1 : weightOfPage(index.docnames[page]);
    const shown = id ? `${title} - ${index.titles[page]}` : title;
    if (best >= ALIKE) add(page, shown, id, null, 1 + best * weight, SearchResultKind.title);
  }
  const found = new Set((common ? [] : known).flatMap(({ meant }) => meant.flatMap((word) => [...read.pages.get(word)])));
  let complete = false;
  for (const page of found) {
    const part = shared((word) => read.pages.get(word).has(page)) / sought;
    complete ||= part > 0.999;
    const titled = shared((word) => stemsOf(index.titles[page]).includes(word)) / sought;
    const score = (0.8 * part + 0.2 * titled) * weightOfPage(index.docnames[page]);
    add(page, index.titles[page], "", null, score, SearchResultKind.text);
  }
  for (const name of namesIn(query))
    for (const [page, full, anchor, about, , , kind] of Search.performObjectSearch(name, new Set()))
      if (`.${full.toLowerCase()}`.endsWith(`.${name}`))
        add(index.docnames.indexOf(page), full, anchor.slice(1), about, name.includes(".") ? 2 : 0.85, kind);

  hits.sort((one, other) => other[4] - one[4] || one[1].localeCompare(other[1]));
  return { hits: once(hits), unknown, complete, common };
};

/* What may be a name of the library, as it is pasted: sktopic.lda.OnlineEMLDA.fit(), or partial-fit. */
function namesIn(query) {
  const pasted = query.toLowerCase().split(/[^\w.-]+/).map((name) => name.replace(/-/g, "_").replace(/^\.+|\.+$/g, ""));
  return new Set([...plain(query), ...pasted].filter(Boolean));
}

/* Any number of sections of a page that answer, but the page itself, or a name on it, only if none does. */
function once(hits) {
  const pages = new Set(), places = new Set();
  return hits.filter(([page, , anchor, , , , kind]) => {
    const seen = kind === SearchResultKind.title ? places.has(page + anchor) : pages.has(page);
    pages.add(page);
    places.add(page + anchor);
    return !seen;
  });
}

function describe({ hits, unknown, complete, common }) {
  const quoted = unknown.map((word) => `"${word}"`).join(", ");
  if (!hits.length && !quoted) return "Type a word to search for, one that not every page has.";
  if (!hits.length) return `Nothing found: no page has ${quoted}. Try another word for it.`;
  const shown = hits.length > MOST_HITS ? `The ${MOST_HITS} best of ${hits.length} results` : `Results: ${hits.length}`;
  if (unknown.length) return `No page has ${quoted}. ${shown} for the other words.`;
  if (common) return `Every page has such words. ${shown}.`;
  return complete ? `${shown}.` : `No page has all of these words. ${shown}, those with most words first.`;
}

/* What a page says of itself, or how a section begins; Sphinx would show headings, navigation and code as one text. */
Search.makeSearchSummary = (html, words, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  const first = anchor && page.getElementById(anchor.slice(1))?.closest("section, dl")?.querySelector("p:not(.admonition-title)");
  const text = first ? first.textContent : page.querySelector("meta[name=description]")?.content || "";
  const excerpt = document.createElement("p");
  excerpt.className = "context";
  excerpt.textContent = text.length > EXCERPT ? text.slice(0, EXCERPT).replace(/\s\S*$/, " ...") : text;
  return excerpt;
};

Search.query = (query) => {
  const [, terms, , highlighted] = Search._parseQuery(query);
  const found = Search.find(query);
  Search.stopPulse();
  Search.title.innerText = "Search results";
  Search.status.innerText = describe(found);
  // Excerpts are fetched, which browsers refuse for files.
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  found.hits.slice(0, MOST_HITS).forEach((hit) => _displayItem(hit, terms, highlighted));
};

// All topics by share, and the heading of the chosen one.

const topicList = byId("topics");
const largestShare = topics[bySize[0]].share || 1;
const rows = new Map(
  bySize.map((k) => {
    const row = element(
      "li",
      { role: "option", tabindex: "-1", "aria-label": describe(k), title: describe(k) },
      element("span", { class: "number" }, String(k)),
      element("span", { class: "name", dir: "auto" }, titleOf(k)),
      element("span", { class: "track" }, bar("fill", topics[k].share / largestShare)),
      element("span", { class: "share" }, percent(topics[k].share)),
    );
    row.addEventListener("click", () => update({ topic: k }));
    return [k, row];
  }),
);
topicList.append(...rows.values());

function step(distance) {
  const place = placeOf.get(state.topic) + distance;
  if (place < 0 || place >= bySize.length) return false;
  update({ topic: bySize[place] });
  return true;
}

const STEPS = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };

topicList.addEventListener("keydown", (event) => {
  if (!(event.key in STEPS)) return;
  event.preventDefault();
  const wanted = placeOf.get(state.topic) + STEPS[event.key];
  const place = Math.max(0, Math.min(wanted, bySize.length - 1));
  update({ topic: bySize[place] });
  rows.get(state.topic).focus();
});

byId("previous").addEventListener("click", () => step(-1));
byId("next").addEventListener("click", () => step(1));

// Scroll the list, and nothing around it, until a row is in sight.
function showRow(row) {
  const above = row.offsetTop - topicList.scrollTop;
  const below = above + row.offsetHeight - topicList.clientHeight;
  if (above < 0) topicList.scrollTop += above;
  else if (below > 0) topicList.scrollTop += below;
}

function showRelated() {
  const buttons = topics[state.topic].related.map((k) => {
    const button = element("button", { type: "button", class: "related" }, ...numberAndTitle(k));
    button.addEventListener("click", () => update({ topic: k }));
    return button;
  });
  byId("related").replaceChildren(...(buttons.length ? ["Like it:", ...buttons] : []));
}

// The map above takes its height when the page is laid out.
new ResizeObserver(() => showRow(rows.get(state.topic))).observe(topicList);
views.push((changed) => {
  if (!changed.has("topic")) return;
  const k = state.topic;
  for (const [other, row] of rows) {
    row.setAttribute("aria-selected", other === k);
    row.setAttribute("tabindex", other === k ? "0" : "-1");
    row.className = colorClass(other);
  }
  showRow(rows.get(k));
  byId("topic-number").textContent = `Topic ${k}`;
  byId("topic-heading").textContent = titleOf(k);
  byId("topic-facts").textContent =
    `${percent(topics[k].share)} of tokens, about ${number(topics[k].share * data.n_tokens)}` +
    `; number ${placeOf.get(k) + 1} of ${topics.length} by size` +
    (topics[k].coherence === null ? "" : `; coherence ${topics[k].coherence.toFixed(2)} (NPMI)`);
  showRelated();
  byId("previous").disabled = placeOf.get(k) === 0;
  byId("next").disabled = placeOf.get(k) === topics.length - 1;
  byId("status").textContent = describe(k);
});

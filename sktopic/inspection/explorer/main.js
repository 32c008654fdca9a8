// Headings, keys, the address, and the first view.

byId("title").textContent = data.title;
byId("corpus").textContent = [
  counted(topics.length, "topic"),
  counted(data.n_documents, "document"),
  counted(data.n_tokens, "token"),
  counted(data.n_words, "word"),
].join(" · ");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isSlider = event.target === slider;
  if (event.key === "/") {
    event.preventDefault();
    query.focus();
    query.select();
  } else if (event.key === "Escape") {
    update({ word: null, single: null });
  } else if (event.key === "ArrowLeft" && !isSlider) {
    step(-1);
  } else if (event.key === "ArrowRight" && !isSlider) {
    step(1);
  }
});

// The address names the chosen topic, so that a link leads to it. In the frame of a notebook there is none.
const hasAddress = location.protocol !== "about:";

function topicOfAddress() {
  const k = Number(/^#topic=(\d+)$/.exec(location.hash)?.[1] ?? NaN);
  return k in topics ? k : data.first;
}

views.push((changed) => {
  if (hasAddress && changed.has("topic")) history.replaceState(null, "", `#topic=${state.topic}`);
});
window.addEventListener("hashchange", () => update({ topic: topicOfAddress() }));

state.topic = topicOfAddress();
for (const view of views) view(new Set(["topic", "word", "lambda", "single"]));

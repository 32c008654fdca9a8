// The words of the chosen topic by relevance.

const wordList = byId("word-list");
const slider = byId("lambda");
slider.value = state.lambda;
slider.addEventListener("input", () => update({ lambda: Number(slider.value) }));

function showWords() {
  const k = state.topic;
  const shown = relevantWords(k, state.lambda);
  const tokensOf = ({ word, p }) => Math.min(p * topics[k].share * data.n_tokens, words.tokens[word]);
  // Words that are frequent everywhere do not set the scale; their bars are cut off.
  const mostInTopic = Math.max(0, ...shown.map(tokensOf));
  const most = Math.min(2 * mostInTopic, Math.max(0, ...shown.map(({ word }) => words.tokens[word]))) || 1;
  wordList.replaceChildren(
    ...shown.map((entry) => {
      const { word, p } = entry;
      const inTopic = tokensOf(entry);
      const overall = words.tokens[word];
      const facts = `${percent(p)} of the topic; ${number(inTopic)} of the word's ${number(overall)} tokens`;
      const button = element(
        "button",
        { type: "button", class: "word", "aria-pressed": String(state.word === word), title: facts },
        isolated(words.names[word]),
        element("span", { class: "unseen" }, `, ${facts}`),
      );
      button.dataset.word = word;
      button.addEventListener("click", () => update({ word: state.word === word ? null : word }));
      const inAll = bar(overall > most ? "in-all cut" : "in-all", overall / most);
      return element(
        "li",
        {},
        button,
        element("span", { class: "track" }, inAll, bar("in-topic", inTopic / most)),
        element("span", { class: "amount", "aria-hidden": "true" }, percent(p)),
      );
    }),
  );
}

views.push((changed) => {
  if (changed.has("topic") || changed.has("lambda")) {
    slider.value = state.lambda;
    slider.setAttribute("aria-valuetext", `lambda ${state.lambda}`);
    byId("lambda-value").textContent = `λ = ${state.lambda.toFixed(2)}`;
    showWords();
  } else if (changed.has("word")) {
    for (const button of wordList.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.word) === state.word));
    }
  }
});

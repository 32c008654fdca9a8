// The map: a circle for each topic, labels where there is room, and where the tokens of a word are.

const MARGIN = 14;
const LABEL_HEIGHT = 13;

const plane = byId("plane");
const circles = svgElement("svg", { role: "listbox", "aria-label": "Map of topics" });
const marks = topics.map((_, k) => {
  const mark = svgElement(
    "g",
    { role: "option", tabindex: "-1", "aria-label": describe(k), class: "topic" },
    svgElement("title", {}, describe(k)),
    svgElement("circle"),
  );
  mark.addEventListener("click", () => update({ topic: k }));
  mark.addEventListener("focus", () => mark.scrollIntoView({ block: "nearest" }));
  return mark;
});
const labels = svgElement("g", { class: "labels", "aria-hidden": "true" });
circles.append(...bySize.map((k) => marks[k]), labels);
plane.append(circles);

// Where circles are on the screen.
let places = [];

function placeCircles() {
  const width = plane.clientWidth;
  if (!width) return;
  const left = Math.min(...topics.map((t) => t.x - t.radius));
  const right = Math.max(...topics.map((t) => t.x + t.radius));
  const top = Math.min(...topics.map((t) => t.y - t.radius));
  const bottom = Math.max(...topics.map((t) => t.y + t.radius));
  const height = Math.max(260, Math.min((width * (bottom - top)) / (right - left), 0.5 * window.innerHeight, 620));
  const scale = Math.min(
    (width - 2 * MARGIN) / (right - left),
    (height - 2 * MARGIN) / (bottom - top),
    0.25 * width / Math.max(...topics.map((topic) => topic.radius)),
  );
  circles.setAttribute("viewBox", `0 0 ${width} ${height}`);
  circles.style.height = `${height}px`;
  places = topics.map((topic) => ({
    x: width / 2 + scale * (topic.x - (left + right) / 2),
    y: height / 2 + scale * (topic.y - (top + bottom) / 2),
    radius: Math.max(scale * topic.radius, 3),
  }));
  marks.forEach((mark, k) => {
    const { x, y, radius } = places[k];
    const circle = mark.querySelector("circle");
    circle.setAttribute("cx", x);
    circle.setAttribute("cy", y);
    circle.setAttribute("r", radius);
  });
  showOnMap();
}

// Which part of each topic the marked word is: of its tokens, those in the topic.
function partsOfWord() {
  const parts = new Map();
  if (state.word !== null) {
    const pairs = words.topics[state.word];
    for (let i = 0; i < pairs.length; i += 2) parts.set(pairs[i], pairs[i + 1]);
  }
  return parts;
}

function showOnMap() {
  const parts = partsOfWord();
  circles.classList.toggle("marks-word", state.word !== null);
  marks.forEach((mark, k) => {
    const chosen = k === state.topic;
    mark.setAttribute("class", `topic ${colorClass(k)}${chosen ? " chosen" : ""}${parts.has(k) ? " has-word" : ""}`);
    mark.setAttribute("aria-selected", chosen);
    mark.setAttribute("tabindex", chosen ? "0" : "-1");
    mark.style.setProperty("--part", parts.has(k) ? parts.get(k) / 100 : 0);
  });
  placeLabels(parts);
  const caption = byId("word-topics");
  caption.hidden = state.word === null;
  caption.replaceChildren();
  if (state.word !== null) {
    const shares = [...parts].map(([k, part]) => `${part}% in topic ${k}`);
    caption.append(isolated(words.names[state.word]), `: ${shares.join(", ") || "spread over many topics"}`);
  }
}

// Labels in order of importance, each where it covers no circle, no other label, and stays on the map.
function placeLabels(parts) {
  const [width, height] = [plane.clientWidth, circles.clientHeight];
  const order = new Set([state.topic, ...parts.keys(), ...bySize]);
  const taken = places.map(({ x, y, radius }) => box(x, y, 0.8 * radius, 0.8 * radius));
  labels.replaceChildren();
  for (const k of order) {
    const { x, y, radius } = places[k];
    const chosen = k === state.topic ? " chosen" : "";
    if (radius > 8) label(`number${chosen}`, String(k), x, y + 4);
    const name = isNamed[k] ? topics[k].name : firstWords[k].slice(0, 2).join(" ");
    const text = parts.has(k) ? `${parts.get(k)}%` : shortened(name, 24);
    const half = 3.1 * [...text].length + 3;
    const middles = [
      [x, y + radius + 8],
      [x, y - radius - 8],
      [x + radius + half, y],
      [x - radius - half, y],
    ];
    const free = middles.find(([left, top]) => isFree(box(left, top, half, 6), taken, width, height));
    const [left, top] = free ?? [clamp(x, half, width - half), y + radius + 8];
    if (free || chosen) {
      label(`label${chosen}`, text, left, top + 4);
      taken.push(box(left, top, half, 6));
    }
  }
}

function box(x, y, halfWidth, halfHeight) {
  return { left: x - halfWidth, right: x + halfWidth, top: y - halfHeight, bottom: y + halfHeight };
}

function isFree(wanted, taken, width, height) {
  const isInside = wanted.left >= 0 && wanted.right <= width && wanted.top >= 0 && wanted.bottom <= height;
  return isInside && taken.every(
    ({ left, right, top, bottom }) =>
      wanted.right <= left || right <= wanted.left || wanted.bottom <= top || bottom <= wanted.top,
  );
}

function clamp(value, least, most) {
  return Math.max(least, Math.min(value, most));
}

function label(className, text, x, y) {
  labels.append(svgElement("text", { class: className, x, y }, text));
}

function shortened(text, length) {
  const characters = [...text];
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
}

// The nearest topic in the direction of an arrow key.
function neighbor(k, dx, dy) {
  let best = null;
  let least = Infinity;
  places.forEach(({ x, y }, other) => {
    const along = dx * (x - places[k].x) + dy * (y - places[k].y);
    const across = Math.abs(dy * (x - places[k].x) - dx * (y - places[k].y));
    const cost = along + 2 * across;
    if (other !== k && along > 0 && across <= 2 * along && cost < least) [best, least] = [other, cost];
  });
  return best;
}

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

circles.addEventListener("keydown", (event) => {
  if (!(event.key in DIRECTIONS)) return;
  event.preventDefault();
  event.stopPropagation();
  const next = neighbor(state.topic, ...DIRECTIONS[event.key]);
  if (next !== null) {
    update({ topic: next });
    marks[next].focus();
  }
});

views.push((changed) => {
  if (places.length && (changed.has("topic") || changed.has("word"))) showOnMap();
});
new ResizeObserver(placeCircles).observe(plane);

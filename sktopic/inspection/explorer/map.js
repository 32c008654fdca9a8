// The map: a circle for each topic, labels where there is room, and where the tokens of a word are.

const MARGIN = 14;
const HEIGHT_OF_LABEL = 13;
const CELL = 40;
const LONGEST_LABEL = 30;
const SHORTEST_LABEL = 9;

const plane = byId("plane");
const tip = byId("tip");
const ruler = document.createElement("canvas").getContext("2d");
const circles = svgElement("svg", { role: "listbox", "aria-label": "Map of topics" });
const marks = topics.map((_, k) => {
  const mark = svgElement(
    "g",
    { role: "option", tabindex: "-1", "aria-label": describe(k), class: "topic" },
    svgElement("circle"),
    svgElement("text", { class: "number", "aria-hidden": "true" }),
    svgElement("text", { class: "label", "aria-hidden": "true" }),
  );
  mark.addEventListener("click", () => update({ topic: k }));
  mark.addEventListener("pointerenter", () => showTip(k));
  mark.addEventListener("pointerleave", hideTip);
  mark.addEventListener("focus", () => {
    mark.scrollIntoView({ block: "nearest" });
    if (mark.matches(":focus-visible")) showTip(k);
  });
  mark.addEventListener("blur", hideTip);
  return mark;
});
circles.append(...bySize.map((k) => marks[k]));
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
  const height = Math.max(260, Math.min((width * (bottom - top)) / (right - left), 0.42 * window.innerHeight, 620));
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
    const digits = String(k);
    const isInside = Math.hypot(3.3 * digits.length, 3) < radius;
    write(mark.querySelector(".number"), isInside ? digits : "", x, y + 4);
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
    const shares = [...parts].flatMap(([k, part], i) => [`${i ? ";" : ":"} ${part}% in `, ...numberAndTitle(k)]);
    caption.append(isolated(words.names[state.word]), ...(shares.length ? shares : [": spread over many topics"]));
  }
}

// Labels in order of importance, each where it covers no circle, no other label, and stays on the map. Topics
// whose labels do not fit show them on hover.
function placeLabels(parts) {
  const taken = new Taken(plane.clientWidth, circles.clientHeight);
  for (const { x, y, radius } of places) taken.add(box(x, y, radius, radius), radius);
  ruler.font = `700 11px ${getComputedStyle(plane).fontFamily}`;
  for (const k of new Set([state.topic, ...parts.keys(), ...bySize])) {
    const spot = spotOf(k, parts, taken);
    write(marks[k].querySelector(".label"), spot ? spot.text : "", spot?.x, spot?.y + 3.5);
    if (spot) taken.add(spot.box, 0);
  }
}

// The longest form of the label that has room, and where.
function spotOf(k, parts, taken) {
  const { x, y, radius } = places[k];
  for (const text of formsOfLabel(k, parts)) {
    const half = ruler.measureText(text).width / 2 + 2;
    const [above, beside] = [radius + HEIGHT_OF_LABEL / 2 + 1, radius + half + 1];
    const steps = [[0, above], [0, -above], [beside, 0], [-beside, 0]];
    steps.push([half, above], [-half, above], [half, -above], [-half, -above]);
    for (const [dx, dy] of steps) {
      const wanted = box(x + dx, y + dy, half, HEIGHT_OF_LABEL / 2);
      if (taken.isFree(wanted)) return { text, x: x + dx, y: y + dy, box: wanted };
    }
  }
  return null;
}

// A label is the name of the topic, in full or cut, with the number if the circle has no room for it.
function formsOfLabel(k, parts) {
  const inside = marks[k].querySelector(".number").textContent;
  const before = (parts.has(k) ? `${parts.get(k)}% ` : "") + (inside ? "" : `${k} `);
  const title = titleOf(k);
  const cuts = isNamed[k] ? [22, 15] : [2, 1].map((n) => firstWords[k].slice(0, n).join(", ").length + 3);
  return [LONGEST_LABEL, ...cuts, SHORTEST_LABEL].map((length) => {
    return before + shortened(title, Math.min(length, LONGEST_LABEL)).replace(/,…$/, ", …");
  });
}

function box(x, y, halfWidth, halfHeight) {
  return { x, y, left: x - halfWidth, right: x + halfWidth, top: y - halfHeight, bottom: y + halfHeight };
}

// Circles and boxes on the map, by the cells that they touch.
class Taken {
  constructor(width, height) {
    Object.assign(this, { width, height, cells: new Map() });
  }

  cellsOf({ left, right, top, bottom }) {
    const keys = [];
    for (let i = Math.floor(left / CELL); i <= right / CELL; i++) {
      for (let j = Math.floor(top / CELL); j <= bottom / CELL; j++) keys.push(1000 * i + j);
    }
    return keys;
  }

  // A circle with this radius in the middle of the box, or the box itself if the radius is 0.
  add(outline, radius) {
    for (const key of this.cellsOf(outline)) {
      if (!this.cells.has(key)) this.cells.set(key, []);
      this.cells.get(key).push({ ...outline, radius });
    }
  }

  isFree(wanted) {
    if (wanted.left < 0 || wanted.right > this.width || wanted.top < 0 || wanted.bottom > this.height) return false;
    return this.cellsOf(wanted).every((key) => (this.cells.get(key) ?? []).every((other) => areApart(wanted, other)));
  }
}

function areApart(wanted, other) {
  if (other.radius) {
    const dx = Math.max(wanted.left - other.x, 0, other.x - wanted.right);
    const dy = Math.max(wanted.top - other.y, 0, other.y - wanted.bottom);
    return Math.hypot(dx, dy) >= other.radius + 0.5;
  }
  return (
    wanted.right <= other.left || other.right <= wanted.left || wanted.bottom <= other.top || other.bottom <= wanted.top
  );
}

function clamp(value, least, most) {
  return Math.max(least, Math.min(value, most));
}

function write(node, text, x, y) {
  node.textContent = text;
  if (text) withAttributes(node, { x, y }, []);
}

function showTip(k) {
  const { x, y, radius } = places[k];
  tip.replaceChildren(...numberAndTitle(k), ` · ${percent(topics[k].share)}`);
  tip.hidden = false;
  tip.style.left = `${clamp(x - tip.offsetWidth / 2, 0, plane.clientWidth - tip.offsetWidth)}px`;
  const above = y - radius - tip.offsetHeight - 6;
  tip.style.top = `${above < 0 ? y + radius + 6 : above}px`;
}

function hideTip() {
  tip.hidden = true;
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
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    update({ topic: marks.indexOf(event.target) });
  }
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

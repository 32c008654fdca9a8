// Making elements. Text goes into the page as text nodes only, so that nothing in a corpus is read as HTML.

const SVG = "http://www.w3.org/2000/svg";

function byId(id) {
  return document.getElementById(id);
}

function withAttributes(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children);
  return node;
}

function element(name, attributes = {}, ...children) {
  return withAttributes(document.createElement(name), attributes, children);
}

function svgElement(name, attributes = {}, ...children) {
  return withAttributes(document.createElementNS(SVG, name), attributes, children);
}

// A word or name of the corpus within a line: its direction of writing stays inside.
function isolated(text) {
  return element("bdi", {}, text);
}

function bar(className, fraction) {
  const node = element("span", { class: className, "aria-hidden": "true" });
  node.style.width = `${(100 * Math.min(fraction, 1)).toFixed(2)}%`;
  return node;
}

const wholeNumbers = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const smallNumbers = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

function number(value) {
  return value >= 10 || Number.isInteger(value) ? wholeNumbers.format(value) : smallNumbers.format(value);
}

function percent(share) {
  const value = 100 * share;
  if (value === 0) return "0%";
  if (value < 0.1) return "< 0.1%";
  return `${value < 10 ? value.toFixed(1) : Math.round(value)}%`;
}

function counted(n, noun) {
  return `${number(n)} ${noun}${n === 1 ? "" : "s"}`;
}

// A flat list cut into threes.
function triples(values) {
  return Array.from({ length: values.length / 3 }, (_, i) => values.slice(3 * i, 3 * i + 3));
}

// The share of the chosen topic over time and in groups.

const PLOT_HEIGHT = 132;
const LABEL_GAP = 8; // least distance of two labels of periods
const SIDES = { left: 44, right: 10, top: 10, bottom: 24 };

function showCourse() {
  const plot = byId("time-plot");
  const width = plot.clientWidth;
  if (!width) return;
  const { names, n_documents: documents } = data.time;
  const [shares, low, high] = [data.time.shares, data.time.low, data.time.high].map((table) => table[state.topic]);
  const most = largestShown(shares, high) * 1.05 || 1;
  const times = timesOf(names);
  const span = times.at(-1) - times[0] || 1;
  const x = (i) => SIDES.left + ((times[i] - times[0]) / span) * (width - SIDES.left - SIDES.right);
  const depth = PLOT_HEIGHT - SIDES.top - SIDES.bottom;
  const y = (share) => SIDES.top + (1 - Math.min(share, most) / most) * depth;
  const line = (values) => values.map((value, i) => `${x(i)},${y(value)}`);
  const upper = line(high.map((value, i) => value ?? shares[i]));
  const lower = line(low.map((value, i) => value ?? shares[i]));
  const svg = svgElement("svg", {
    viewBox: `0 0 ${width} ${PLOT_HEIGHT}`,
    role: "img",
    "aria-label": courseInWords(names, shares),
  });
  svg.style.height = `${PLOT_HEIGHT}px`;
  for (const value of ticks(most)) {
    svg.append(
      svgElement("line", { class: "grid", x1: SIDES.left, x2: width - SIDES.right, y1: y(value), y2: y(value) }),
      svgElement("text", { class: "tick", x: SIDES.left - 6, y: y(value) + 4, "text-anchor": "end" }, percent(value)),
    );
  }
  svg.append(
    svgElement("polygon", { class: "band", points: [...upper, ...lower.reverse()].join(" ") }),
    svgElement("polyline", { class: "line", points: line(shares).join(" ") }),
  );
  shares.forEach((share, i) => {
    const fact = `${names[i]}: ${percent(share)} of tokens, ${counted(documents[i], "document")}`;
    svg.append(svgElement("circle", { class: "point", cx: x(i), cy: y(share), r: 3 }, svgElement("title", {}, fact)));
  });
  plot.replaceChildren(svg);
  let end = -Infinity;
  for (const [i, label] of shortDates(names).entries()) {
    if (x(i) < end + LABEL_GAP) continue;
    const anchor = i === 0 ? "start" : x(i) > width - 40 ? "end" : "middle";
    const text = svgElement("text", { class: "tick period", x: x(i), y: PLOT_HEIGHT - 6, "text-anchor": anchor }, label);
    svg.append(text);
    const box = text.getBBox(); // of an element of the page only
    if (box.x < end + LABEL_GAP || box.x + box.width > width) text.remove();
    else end = box.x + box.width;
  }
}

// Dates as years, quarters, months or minutes if all of them begin one.
function shortDates(names) {
  const all = (pattern) => names.every((name) => pattern.test(name));
  if (all(/^\d{4}-01-01$/)) return names.map((name) => name.slice(0, 4));
  if (all(/^\d{4}-(01|04|07|10)-01$/)) {
    return names.map((name) => `${name.slice(0, 4)}-Q${Math.ceil(Number(name.slice(5, 7)) / 3)}`);
  }
  if (all(/ \d\d:\d\d:00$/)) return names.map((name) => name.slice(0, -3));
  return all(/^\d{4}-\d\d-01$/) ? names.map((name) => name.slice(0, 7)) : names;
}

// Wide intervals of a few documents do not set the scale; they are cut off.
function largestShown(shares, high) {
  return Math.min(Math.max(...high.map((value, i) => value ?? shares[i])), 1.5 * Math.max(...shares));
}

// Where periods are in time: numbers as they are, dates and times in UTC; other names one after the other.
function timesOf(names) {
  const inUTC = (name) => (/\d\d:\d\d:\d\d(\.\d+)?$/.test(name) ? `${name.replace(" ", "T")}Z` : name);
  const read = names.map((name) => (/^-?\d+$/.test(name) ? Number(name) : Date.parse(inUTC(name))));
  return read.every(Number.isFinite) ? read : names.map((_, i) => i);
}

function courseInWords(names, shares) {
  const top = shares.indexOf(Math.max(...shares));
  return (
    `Share of ${calledTopic(state.topic)}, from ${names[0]} (${percent(shares[0])}) to ${names.at(-1)} ` +
    `(${percent(shares.at(-1))}), largest in ${names[top]} (${percent(shares[top])})`
  );
}

// Round numbers up to a limit, three or so.
function ticks(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  const size = [0.2, 0.5, 1, 2].map((factor) => factor * power).find((value) => most / value <= 5) ?? 5 * power;
  return Array.from({ length: Math.floor(most / size) + 1 }, (_, i) => i * size);
}

function showGroups() {
  const { names, n_documents: documents } = data.groups;
  const [shares, low, high] = [data.groups.shares, data.groups.low, data.groups.high].map((t) => t[state.topic]);
  const overall = topics[state.topic].share;
  const most = Math.max(largestShown(shares, high), overall) || 1;
  const order = names.map((_, i) => i).sort((a, b) => shares[b] - shares[a]);
  byId("group-list").replaceChildren(
    ...order.map((i) => {
      const track = element("span", { class: "track", "aria-hidden": "true" }, bar("fill", shares[i] / most));
      if (low[i] !== null) {
        const whisker = element("span", { class: "whisker" });
        whisker.style.left = `${(100 * low[i]) / most}%`;
        whisker.style.width = `${(100 * (Math.min(high[i], most) - low[i])) / most}%`;
        track.append(whisker);
      }
      const line = element("span", { class: "overall" });
      line.style.left = `${(100 * overall) / most}%`;
      track.append(line);
      return element(
        "li",
        { title: `${names[i]}: ${counted(documents[i], "document")}` },
        element("span", { class: "name", dir: "auto" }, names[i]),
        track,
        element("span", { class: "share" }, percent(shares[i])),
      );
    }),
  );
}

if (data.time) {
  byId("time").hidden = false;
  new ResizeObserver(showCourse).observe(byId("time-plot"));
}
if (data.groups) {
  byId("groups").hidden = false;
  const { omitted } = data.groups;
  byId("groups-omitted").hidden = omitted === 0;
  byId("groups-omitted").textContent = `${counted(omitted, "smaller group")} not in this page`;
}
if (!data.time && !data.groups) byId("courses").hidden = true;
views.push((changed) => {
  if (!changed.has("topic")) return;
  for (const node of document.querySelectorAll(".of-topic")) node.replaceChildren(...numberAndTitle(state.topic));
  if (data.time) showCourse();
  if (data.groups) showGroups();
});

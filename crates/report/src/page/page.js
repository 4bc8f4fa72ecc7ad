// Draws each figure again so that it can be looked at closely: values below the pointer, zoom, logarithmic axes.
"use strict";
const W = 640, H = 330, LEFT = 88, RIGHT = 12, TOP = 10, BOTTOM = 40;
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

const node = (name, attributes, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};
const shown = (x) => Math.abs(x) < 1e15 ? x.toLocaleString("en", { maximumSignificantDigits: 10 }) : String(x);

// The last point of a step curve at a time.
const at = (points, time) => {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= time) low = middle + 1; else high = middle;
  }
  return low > 0 ? points[low - 1] : undefined;
};

// The name of a source without the size that it had, and its color, the same one in all figures.
const kind = (source) => source?.split(/[(,]/)[0].trim();
const known = [];
const colorOf = (source) => {
  if (!known.includes(kind(source))) known.push(kind(source));
  return COLORS[(known.indexOf(kind(source)) + 1) % COLORS.length];
};

// Places on an axis, from 0 to 1, and round numbers along it.
const axis = (from, to, log) => {
  const scale = log ? Math.log10 : (x) => x;
  const [a, b] = [scale(from), scale(to)], span = b - a || 1;
  const place = (x) => (scale(x) - a) / span;
  const back = (part) => log ? 10 ** (a + part * span) : a + part * span;
  const ticks = [];
  if (log && span >= 1) {
    for (let e = Math.ceil(a); e <= b; e += Math.ceil(span / 8)) ticks.push(10 ** e);
  } else {
    const [low, high] = [back(0), back(1)], rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * ([1, 2, 5].find((n) => n * unit >= rough) ?? 10);
    for (let n = Math.ceil(low / step); n * step <= high; n++) ticks.push(n * step + 0);
  }
  return { place, back, ticks };
};

const figure = (element, { name, lines }) => {
  const all = lines.flatMap((line) => line.points);
  if (!all.length) return;
  const end = Math.max(...all.map((point) => point[0])) || 1;
  const first = Math.min(...all.map((point) => point[0]).filter((time) => time > 0), end);
  const sources = [...new Set(all.map((point) => kind(point[2])).filter(Boolean))];
  const state = { from: 0, to: end, logTime: false, logValue: false };
  const svg = node("svg", { viewBox: `0 0 ${W} ${H}`, "font-size": 13, role: "img", "aria-label": name });
  const tools = document.createElement("div");
  tools.className = "tools";
  const output = document.createElement("output");
  output.textContent = "Point at the picture for values, drag across it to zoom.";
  const tick = (text, key) => {
    const label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.addEventListener("change", () => { state[key] = box.checked; draw(); });
    label.append(box, ` ${text}`);
    tools.append(label);
  };
  tick("logarithmic time", "logTime");
  if (all.every((point) => point[1] > 0)) tick("logarithmic values", "logValue");
  const whole = document.createElement("button");
  whole.textContent = "whole run";
  whole.addEventListener("click", () => { [state.from, state.to] = [0, end]; draw(); });
  tools.append(whole, output);

  let times, values, x, y;
  const draw = () => {
    svg.replaceChildren();
    const from = state.logTime ? Math.max(state.from, first) : state.from;
    times = axis(Math.min(from, state.to), state.to, state.logTime);
    const visible = lines.flatMap((line) => {
      const before = at(line.points, from);
      return line.points.filter(([t]) => t >= from && t <= state.to).concat(before ? [before] : []);
    }).map((point) => point[1]);
    const [least, most] = [Math.min(...visible), Math.max(...visible)];
    const room = state.logValue ? 0 : (most - least || Math.abs(most) || 1) * 0.04;
    values = axis(least - room, most + room, state.logValue && most > least);
    x = (t) => LEFT + Math.min(Math.max(times.place(t), 0), 1) * (W - LEFT - RIGHT);
    y = (v) => H - BOTTOM - values.place(v) * (H - TOP - BOTTOM);
    for (const t of times.ticks) {
      svg.append(node("path", { d: `M${x(t)} ${TOP}V${H - BOTTOM}`, stroke: "#e4e4e4" }),
        node("text", { x: x(t), y: H - BOTTOM + 17, "text-anchor": "middle" }, shown(t)));
    }
    for (const v of values.ticks) {
      svg.append(node("path", { d: `M${LEFT} ${y(v)}H${W - RIGHT}`, stroke: "#e4e4e4" }),
        node("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, shown(v)));
    }
    for (const line of lines) {
      const before = at(line.points, from);
      const points = line.points.filter(([t]) => t >= from && t <= state.to);
      if (before) points.unshift([from, before[1]]);
      if (!points.length) continue;
      const path = points.map(([t, v], k) => (k ? `H${x(t)}V${y(v)}` : `M${x(t)} ${y(v)}`)).join("");
      svg.append(node("path", { d: `${path}H${x(Math.min(line.points.at(-1)[0], state.to))}`, fill: "none",
        stroke: line.color, "stroke-width": 2, "stroke-dasharray": line.dashed ? "7 4" : "none" }));
      for (const [t, v, source] of points.filter((point) => point[2])) {
        svg.append(node("circle", { cx: x(t), cy: y(v), r: 3.4, stroke: line.dashed ? colorOf(source) : "#fff",
          fill: line.dashed ? "#fff" : colorOf(source), "stroke-width": line.dashed ? 1.4 : 0.6 }));
      }
    }
    svg.append(node("path", { d: `M${LEFT} ${TOP}V${H - BOTTOM}H${W - RIGHT}`, fill: "none", stroke: "#444" }),
      node("text", { x: (LEFT + W) / 2, y: H - 4, "text-anchor": "middle" }, "time (s)"),
      node("text", { transform: `rotate(-90 14 ${H / 2})`, x: 14, y: H / 2, "text-anchor": "middle" }, name));
  };

  const time = (event) => {
    const box = svg.getBoundingClientRect();
    const part = ((event.clientX - box.left) / box.width * W - LEFT) / (W - LEFT - RIGHT);
    return times.back(Math.min(Math.max(part, 0), 1));
  };
  let begun, mark;
  const over = (t) => {
    mark?.remove();
    mark = begun === undefined
      ? node("path", { d: `M${x(t)} ${TOP}V${H - BOTTOM}`, stroke: "#444", "stroke-dasharray": "2 3" })
      : node("rect", { x: Math.min(x(t), x(begun)), y: TOP, width: Math.abs(x(t) - x(begun)),
        height: H - TOP - BOTTOM, "fill-opacity": 0.2, fill: "#0072b2" });
    svg.append(mark);
    const values = lines.flatMap((line) => {
      const point = at(line.points, t);
      return point ? [`${line.name} ${shown(point[1])}${point[2] ? ` (${point[2]})` : ""}`] : [];
    });
    output.textContent = `${shown(Number(t.toPrecision(4)))} s: ${values.join(", ") || "nothing known"}`;
  };
  svg.addEventListener("pointermove", (event) => over(time(event)));
  svg.addEventListener("pointerdown", (event) => { begun = time(event); svg.setPointerCapture(event.pointerId); });
  svg.addEventListener("pointerup", (event) => {
    const ended = time(event);
    const [from, to] = [Math.min(begun, ended), Math.max(begun, ended)];
    begun = undefined;
    if (to - from > (state.to - state.from) / 100) [state.from, state.to] = [from, to];
    draw();
  });
  svg.addEventListener("pointerleave", () => { if (begun === undefined) mark?.remove(); });
  element.querySelector("svg").hidden = true;
  element.querySelector("svg").style.display = "none";
  const legend = document.createElement("div");
  legend.className = "tools";
  const explain = (text, sample) => {
    const [key, box] = [document.createElement("span"), node("svg", { viewBox: "0 0 20 10", class: "key" })];
    box.append(sample);
    key.append(box, ` ${text}`);
    legend.append(key);
  };
  for (const line of lines) {
    explain(line.name, node("path", { d: "M0 5H20", stroke: line.color, "stroke-width": 2,
      "stroke-dasharray": line.dashed ? "6 3" : "none" }));
  }
  for (const source of sources) explain(source, node("circle", { cx: 10, cy: 5, r: 4, fill: colorOf(source) }));
  element.append(svg, legend, tools);
  draw();
};

const data = JSON.parse(document.getElementById("data").textContent);
for (const element of document.querySelectorAll("figure[data-figure]")) {
  figure(element, data[element.dataset.figure]);
}

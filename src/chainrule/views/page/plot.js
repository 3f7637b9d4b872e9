/* Lines over 0, 1, 2 …, as SVG; a line is named where one points at it. One that is called like another and
   ", before training" has its colour, and is dashed. */
const BEFORE = ", before training";

function looks(names) {
  const plain = [...new Set(names.map((name) => name.replace(BEFORE, "")))];
  return names.map((name) => `k${plain.indexOf(name.replace(BEFORE, "")) % 6}${name.includes(BEFORE) ? " dashed" : ""}`);
}

const SVG = "http://www.w3.org/2000/svg";

function drawn(name, attributes, ...inside) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

function plot(curves, across, upwards) {
  const wide = 720, high = 280, left = 60;
  const finite = curves.flatMap(([, values]) => values.filter(Number.isFinite));
  const low = Math.min(...finite, Infinity), top = Math.max(...finite, -Infinity), range = top > low ? top - low : 1;
  const steps = Math.max(...curves.map(([, values]) => values.length), 2);
  const x = (step) => left + (wide - left - 10) * step / (steps - 1), y = (value) => 12 + high - (value - low) / range * high;
  const picture = drawn("svg", { viewBox: `0 0 ${wide} ${high + 48}`, width: wide, class: "plot", role: "img" });
  for (let mark = 0; mark <= 4; mark += 1) {
    const value = low + range * mark / 4;
    picture.append(
      drawn("line", { x1: left, x2: wide - 10, y1: y(value), y2: y(value), class: "rule" }),
      drawn("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, Number(value.toPrecision(3)).toString()),
      drawn("text", { x: x(Math.round((steps - 1) * mark / 4)), y: high + 30, "text-anchor": "middle" }, String(Math.round((steps - 1) * mark / 4))));
  }
  picture.append(drawn("text", { x: wide - 10, y: high + 46, "text-anchor": "end" }, across));
  const kinds = looks(curves.map(([name]) => name));
  curves.forEach(([name, values], at) => {
    const points = values.map((value, step) => Number.isFinite(value) ? `${x(step).toFixed(1)},${y(value).toFixed(1)}` : "").filter(Boolean);
    picture.append(drawn("polyline", { points: points.join(" "), class: `curve ${kinds[at]}` }, drawn("title", {}, name)));
  });
  const legend = element("ul", { class: "legend" }, curves.map(([name], at) => element("li", { class: kinds[at] }, name)));
  return element("figure", { class: "scroll" }, element("figcaption", {}, upwards), picture, legend);
}

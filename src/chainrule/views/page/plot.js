/* Lines of evenly spread values, as SVG; a line is named where one points at it. One that is called like another and
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

/* Round numbers between two others: multiples of 1, 2 or 5 times a power of ten; of whole ones no parts. */
function ticks(low, high, whole = false) {
  if (!(high > low)) return [low];
  const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(whole ? 1 : 0, power * [1, 2, 5, 10].find((one) => one * power >= rough * (1 - 1e-9)));
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, at) => (first + at) * step);
}

/* `span` is where the first value stands and where the last one does: 0, 1, 2 … if not given. */
function plot(curves, across, upwards, span = null) {
  const wide = Math.min(720, Math.max(320, innerWidth - 40)), high = 280, left = 60;
  const finite = curves.flatMap(([, values]) => values.filter(Number.isFinite));
  const low = Math.min(...finite, Infinity), top = Math.max(...finite, -Infinity), range = top > low ? top - low : 1;
  const steps = Math.max(...curves.map(([, values]) => values.length), 2), [begin, end] = span ?? [0, steps - 1];
  const x = (step) => left + (wide - left - 10) * step / (steps - 1), y = (value) => 12 + high - (value - low) / range * high;
  const picture = drawn("svg", { viewBox: `0 0 ${wide} ${high + 48}`, width: wide, class: "plot", role: "img" });
  for (const value of finite.length ? ticks(low, low + range) : []) {
    picture.append(
      drawn("line", { x1: left, x2: wide - 10, y1: y(value), y2: y(value), class: "rule" }),
      drawn("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, Number(value.toPrecision(4)).toString().replace("-", "\u2212")));
  }
  for (const mark of ticks(begin, end, true)) {
    picture.append(drawn("text", { x: x((mark - begin) / (end - begin || 1) * (steps - 1)), y: high + 30, "text-anchor": "middle" }, mark.toLocaleString("en")));
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

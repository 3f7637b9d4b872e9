/* A loss curve that grows: training thin, validation bold; x is seconds or steps. */
import { drawn, element } from "./dom.js";
import { duration, figure } from "./words.js";

const HIGH = 150, LEFT = 44, FOOT = 20;
const narrow = matchMedia("(max-width: 40rem)");

/* Points are [x, train, valid]; either may be null. */
export function curve(points, { across = duration } = {}) {
  const wide = narrow.matches ? 330 : 560;
  const values = points.flatMap(([, train, valid]) => [train, valid]).filter((one) => Number.isFinite(one));
  if (points.length < 2 || !values.length) return null;
  const sorted = [...values].sort((one, other) => one - other), low = sorted[0];
  const top = Math.max(sorted[Math.floor(0.98 * (sorted.length - 1))], low + 1e-6), last = points[points.length - 1][0] || 1, first = points[0][0];
  const x = (at) => LEFT + (wide - LEFT - 8) * (at - first) / ((last - first) || 1);
  const y = (value) => 8 + (HIGH - 8) * (1 - Math.min(1, (value - low) / (top - low)));
  const path = (column) => points.filter((one) => Number.isFinite(one[column])).map((one) => `${x(one[0]).toFixed(1)},${y(one[column]).toFixed(1)}`);
  const picture = drawn(
    "svg",
    {
      viewBox: `0 0 ${wide} ${HIGH + FOOT + 6}`, class: "curve", role: "img",
      "aria-label": `loss from ${figure(values[0])} to ${figure(values[values.length - 1])}`
    }
  );
  for (const value of [low, (low + top) / 2, top]) {
    picture.append(
      drawn("line", { x1: LEFT, x2: wide - 8, y1: y(value), y2: y(value), class: "rule" }),
      drawn("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, figure(value))
    );
  }
  picture.append(
    drawn("text", { x: LEFT, y: HIGH + FOOT }, across(first)),
    drawn("text", { x: wide - 8, y: HIGH + FOOT, "text-anchor": "end" }, across(last))
  );
  const train = path(1), valid = path(2);
  if (train.length) picture.append(drawn("polyline", { points: train.join(" "), class: "train" }));
  if (valid.length > 1) picture.append(drawn("polyline", { points: valid.join(" "), class: "valid" }));
  if (valid.length) {
    const [cx, cy] = valid[valid.length - 1].split(",");
    picture.append(drawn("circle", { cx, cy, r: 3.5, class: "valid" }));
  }
  const legend = [
    train.length ? element("span", { class: "train" }, "training") : null,
    valid.length ? element("span", { class: "valid" }, "validation") : null
  ];
  return element("figure", { class: "curve" }, picture, element("figcaption", {}, legend, element("span", {}, "loss, nats")));
}

/* A map of points; pointing at one tells its neighbours, which are exact. */
DRAWERS.vectors = (data, root) => {
  for (const model of data.models) {
    const wide = Math.min(760, Math.max(320, innerWidth - 40)), high = 520, readout = element("p", { class: "readout note", aria_live: "polite" });
    const points = model.points.rows().map((row) => row.list());
    const span = (axis) => { const all = points.map((one) => one[axis]); return [Math.min(...all), Math.max(...all)]; };
    const [[left, right], [low, top]] = [span(0), span(1)];
    const x = (value) => 20 + (wide - 40) * (value - left) / (right - left || 1), y = (value) => 16 + (high - 32) * (value - low) / (top - low || 1);
    const picture = drawn("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, class: "plot map", role: "img" });
    for (const [one, other] of model.lines) {
      picture.append(drawn("line", { x1: x(points[one][0]), y1: y(points[one][1]), x2: x(points[other][0]), y2: y(points[other][1]), class: "curve k1" }));
    }
    model.names.forEach((name, at) => {
      const told = `${name}: ${near(model, at)}`, show = () => { readout.textContent = told; };
      const mark = drawn("g", { tabindex: 0, class: "k0" }, drawn("title", {}, told),
        drawn("circle", { cx: x(points[at][0]), cy: y(points[at][1]), r: 4, fill: "currentColor" }),
        drawn("text", { ...beside(x(points[at][0]), wide), y: y(points[at][1]) + 4 }, name.length > 40 ? `${name.slice(0, 39)}\u2026` : name));
      mark.addEventListener("pointerenter", show);
      mark.addEventListener("focus", show);
      picture.append(mark);
    });
    root.append(element("section", {}, element("h2", {}, model.name), element("div", { class: "scroll" }, picture), readout));
  }
};

/* A name stands on the side of its point where there is room for it. */
const beside = (x, wide) => x > wide / 2 ? { x: x - 7, "text-anchor": "end" } : { x: x + 7 };

function near(model, at) {
  if (model.neighbours.length) return model.neighbours[at].map((one) => `${one.word} ${figure(one.similarity)}`).join(", ");
  const like = model.similarity.at(at).list();
  const order = like.map((_, other) => other).filter((other) => other !== at).sort((one, other) => like[other] - like[one]);
  return order.slice(0, 5).map((other) => `${model.names[other]} ${figure(like[other])}`).join(", ");
}

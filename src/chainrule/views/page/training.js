/* Curves of a run, one picture for each scale: losses together, everything else by itself. */
DRAWERS.training = (data, root) => {
  for (const model of data.models) {
    const steps = model.steps.list(), last = steps[steps.length - 1] || 1;
    const even = (values) => Array.from({ length: 101 }, (_, at) => between(steps, values, at * last / 100));
    const curves = Object.entries(model.curves).map(([name, values]) => [name, even(values.list())]);
    const losses = curves.filter(([name]) => ["train", "valid"].includes(name));
    const layers = curves.filter(([name]) => name.startsWith("layer "));
    const rest = curves.filter((curve) => !losses.includes(curve) && !layers.includes(curve));
    root.append(element("section", {}, element("h2", {}, model.name), plot(losses, "step", "loss, nats", [0, last]),
      layers.length ? plot(layers, "step", "share of a layer", [0, last]) : null, (model.kept ?? []).length ? onTheWay(model.kept) : null,
      rest.map(([name, values]) => plot([[name, values]], "step", name, [0, last]))));
  }
};

/* A value between two steps that were judged. */
function between(steps, values, at) {
  const known = steps.map((step, place) => [step, values[place]]).filter(([, value]) => Number.isFinite(value));
  const after = known.findIndex(([step]) => step >= at);
  if (after < 0) return known.length ? known[known.length - 1][1] : NaN;
  if (after === 0) return known[0][0] === at ? known[0][1] : NaN;
  const [[from, low], [to, high]] = [known[after - 1], known[after]];
  return low + (high - low) * (at - from) / (to - from || 1);
}

/* What the models that a run kept would say, one after the other. */
function onTheWay(kept) {
  const sample = element("p", { class: "sample" }), chart = element("div", { class: "bars" });
  const show = (at) => {
    const one = kept[at], chances = one.probabilities.list(), most = Math.max(...chances, 1e-12);
    sample.textContent = one.sample;
    chart.replaceChildren(...one.symbols.map((symbol, rank) => element("div", { class: "row" },
      element("span", { class: "name" }, symbol), element("span", { class: "bar", style: { width: `${100 * chances[rank] / most}%` } }),
      element("span", { class: "value" }, percent(chances[rank])))));
  };
  show(kept.length - 1);
  return element("section", {}, element("h2", {}, "what it would say on the way"), element("div", { class: "controls" },
    slider("step", { min: 0, max: kept.length - 1, step: 1, value: kept.length - 1 }, show, (at) => kept[at].step)), sample, chart);
}

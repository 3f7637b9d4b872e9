/* Gradient through time: the logarithm of its norm against the steps back, and what the networks are like. */
DRAWERS.gradient = (data, root) => {
  const curves = data.models.flatMap((model) =>
    Object.entries(model.norms).map(([memory, norms]) => [`${model.name}: ${memory}`, norms.list()]));
  root.append(plot(curves, "T \u2212 t, steps back", "log10 of the norm of the gradient"));
  const heads = [...new Set(data.models.flatMap((model) => Object.keys(model.told)))];
  root.append(element("div", { class: "scroll" }, element("table", { class: "facts" },
    element("tr", {}, element("th"), heads.map((name) => element("th", {}, name))),
    data.models.map((model) => element("tr", {}, element("th", {}, model.name), heads.map((name) => element("td", {}, model.told[name] ?? "")))))));
  const derived = data.models.flatMap((model) =>
    model.derivative.map((values, layer) => [`${model.name}: layer ${layer + 1}`, values.list()]));
  if (derived.length) {
    root.append(element("h2", {}, "mean derivative of the activation at every step"), plot(derived, "step of the text", "derivative"));
  }
};

/* Gradient through time: the logarithm of its norm against the steps back, and what the networks are like. */
DRAWERS.gradient = (data, root) => {
  const curves = data.models.flatMap((model) =>
    Object.entries(model.norms).map(([memory, norms]) => [`${model.name}: ${memory}`, norms.list()]));
  root.append(plot(curves, "T \u2212 t, steps back", "log10 of the norm of the gradient"));
  const derived = data.models.flatMap((model) =>
    model.derivative.map((values, layer) => [`${model.name}: layer ${layer + 1}`, values.list()]));
  if (derived.length) {
    root.append(element("h2", {}, "mean derivative of the activation at every step"), plot(derived, "step", "derivative"));
  }
};

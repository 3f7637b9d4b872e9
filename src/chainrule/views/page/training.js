/* Curves of a run, one picture for each scale: losses together, everything else by itself. */
DRAWERS.training = (data, root) => {
  for (const model of data.models) {
    const steps = model.steps.list(), last = steps[steps.length - 1] || 1;
    const even = (values) => Array.from({ length: 101 }, (_, at) => between(steps, values, at * last / 100));
    const curves = Object.entries(model.curves).map(([name, values]) => [name, even(values.list())]);
    const losses = curves.filter(([name]) => ["train", "valid"].includes(name));
    const rest = curves.filter(([name]) => !["train", "valid"].includes(name));
    root.append(element("section", {}, element("h2", {}, model.name), plot(losses, `% of ${last} steps`, "loss, nats"),
      rest.map(([name, values]) => plot([[name, values]], `% of ${last} steps`, name))));
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

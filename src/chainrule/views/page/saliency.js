/* How much each symbol counts: blue speaks for the answer, red against it. */
DRAWERS.saliency = (data, root) => {
  for (const model of data.models) {
    const values = model.attributions.list(), most = Math.max(...values.map(Math.abs), 1e-12);
    const instead = model.contrast ? `, and not ${model.contrast}` : "";
    const drawn = line(model.symbols, true, (at) => shade(values[at] > 0 ? "cool" : "heat", 0.8 * Math.abs(values[at]) / most),
      (at) => `${model.symbols[at]}: ${values[at] >= 0 ? "+" : ""}${figure(values[at], 4)}`);
    root.append(element("section", {}, element("h2", {}, `${model.name}: why ${model.target}${instead}`), drawn.root));
  }
};

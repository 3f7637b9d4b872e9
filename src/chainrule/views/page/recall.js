/* The probability of a symbol that stood before, against how far back it was. */
DRAWERS.recall = (data, root) => {
  const far = data.distances.list(), first = far[0];
  const curve = (values) => {
    const even = Array(far[far.length - 1] - first + 1).fill(NaN);
    far.forEach((distance, at) => { even[distance - first] = values[at]; });
    return even;
  };
  const curves = data.models.map((name, model) => [name, curve(data.probabilities.at(model).list())]);
  root.append(plot(curves, "symbols back", "probability of the symbol", [first, far[far.length - 1]]));
};

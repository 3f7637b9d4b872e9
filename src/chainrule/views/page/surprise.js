/* Bits of every symbol, model below model; of two, who wins where. */
const CEILING = 12;

DRAWERS.surprise = (data, root) => {
  const rows = data.bits.rows().map((row) => row.list());
  data.models.forEach((name, model) => {
    const bits = rows[model], mean = bits.reduce((sum, one) => sum + one, 0) / bits.length;
    const told = (at) => [`${data.symbols[at]}: ${figure(bits[at])} bits`, ...facts(data.facts[model][at]), ...(data.paths?.[model]?.[at] ?? []).map(asked)].join(", ");
    const { root: drawn } = line(data.symbols, data.spaced, (at) => shade("heat", 0.85 * bits[at] / CEILING), told);
    root.append(element("section", {}, element("h2", {}, `${name}: ${figure(mean, 3)} bits per ${data.unit}`), drawn));
  });
  if (rows.length === 2) root.append(difference(data, rows));
};

function facts(told) {
  return Object.entries(told).map(([name, value]) => Array.isArray(value)
    ? `${name} ${value.map((one) => figure(one)).join(" / ")}` : `${name} ${value}`);
}

/* A context that an n-gram asked for a symbol, and what came of it. */
function asked({ context, seen, probability, weight, count, of }) {
  const after = context.length ? `\u201c${context.join(" ")}\u201d` : "nothing", counts = of ? ` (${count} of ${of})` : "";
  return seen ? `after ${after} ${percent(probability)}${counts}`
    : `not seen after ${after}${counts}, ${percent(probability)} is left for what is unseen: \u00d7 ${weight.toPrecision(3)}`;
}

function difference(data, [upper, lower]) {
  const ahead = upper.map((one, at) => lower[at] - one);
  const colour = (at) => shade(ahead[at] >= 0 ? "cool" : "heat", Math.abs(ahead[at]) / 6);
  const told = (at) => `${data.symbols[at]}: ${ahead[at] >= 0 ? data.models[0] : data.models[1]} needs ${figure(Math.abs(ahead[at]))} bits less`;
  const title = `Who wins where: blue ${data.models[0]}, red ${data.models[1]}`;
  return element("section", {}, element("h2", {}, title), line(data.symbols, data.spaced, colour, told).root);
}

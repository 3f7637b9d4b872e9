/* The distribution over the next symbol; temperature, top-k and top-p narrow what is shown as generation would.
   A click on a symbol goes on from there, as far as the page knows what follows. */
DRAWERS.next = (data, root) => {
  const state = { temperature: 1, k: data.symbols.length, p: 1 };
  const charts = element("div", { class: "columns" }), trail = element("p", { class: "trail note", aria_live: "polite" });
  const known = new Map([["", data], ...(data.further ?? []).map((place) => [place.path.join(" "), place])]);
  let path = [];
  const go = (steps) => { path = steps; update(); };
  const update = () => {
    const place = known.get(path.map(({ id }) => id).join(" "));
    trail.replaceChildren(...(path.length ? ["then ", ...path.map(({ symbol }) => element("code", {}, symbol)).flatMap((one) => [one, " "]),
      element("button", { type: "button", on: { click: () => go(path.slice(0, -1)) } }, "back")] : []));
    const onward = (at) => {
      const next = [...path, { id: place.ids?.[at], symbol: place.symbols[at] }];
      return known.has(next.map(({ id }) => id).join(" ")) ? () => go(next) : null;
    };
    charts.replaceChildren(...data.models.map((name, model) => chart(place, model, name, state, onward)));
  };
  const change = (name) => (value) => { state[name] = value; update(); };
  root.append(
    element("div", { class: "controls" },
      slider("temperature", { min: 0.1, max: 2, step: 0.05, value: 1 }, change("temperature"), (value) => value.toFixed(2)),
      slider("top-k", { min: 1, max: data.symbols.length, step: 1, value: state.k }, change("k"),
        (value) => value === data.symbols.length ? "all" : value),
      slider("top-p", { min: 0.05, max: 1, step: 0.05, value: 1 }, change("p"), (value) => value.toFixed(2))),
    trail, charts);
  update();
};

/* Shares of the symbols as they would be drawn: by temperature first, then the k best, then the fewest that have p.
   What is not listed has the rest; its part at another temperature is not known exactly and is told as such. */
function narrowed(shares, rest, { temperature, k, p }) {
  const exponent = 1 / temperature;
  const powers = shares.map((share) => share ** exponent), others = temperature === 1 ? rest : 0;
  const total = powers.reduce((sum, one) => sum + one, others);
  const order = powers.map((_, at) => at).sort((one, other) => powers[other] - powers[one]);
  const all = k === shares.length && p === 1;
  let heap = 0;
  const kept = new Set();
  for (const at of order) {
    if (kept.size >= k || (kept.size && heap >= p * total - 1e-9)) break;
    kept.add(at);
    heap += powers[at];
  }
  const whole = all ? total : heap;
  return { order, kept, shares: powers.map((one, at) => kept.has(at) ? one / whole : 0), others: all ? others / whole : 0 };
}

function chart(data, model, name, state, onward) {
  const shares = data.probabilities.at(model).list(), rest = data.others.at(model);
  const found = narrowed(shares, rest, state);
  const most = Math.max(...found.shares, found.others, 1e-12);
  const row = (label, share, kept, go = null) => element(go ? "button" : "div", { class: kept ? "row" : "row out", type: go ? "button" : undefined, on: go ? { click: go } : {} },
    element("span", { class: "name", title: label }, label),
    element("span", { class: "bar", style: { width: `${(100 * share) / most}%`, background: `var(--k${model % 6})` } }),
    element("span", { class: "value" }, percent(share)));
  const rows = found.order.map((at) => row(data.symbols[at], found.shares[at], found.kept.has(at), onward(at)));
  const others = state.temperature === 1 && found.others > 0 ? [row("(all others)", found.others, true)] : [];
  const said = state.temperature === 1 ? [] : [element("p", { class: "note" }, "Among the symbols listed; all others are left out at another temperature.")];
  return element("section", {}, element("h2", {}, name), element("div", { class: "bars" }, rows, others), said);
}

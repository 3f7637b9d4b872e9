/* What every layer would predict, the last one on top; pointing at a place tells its best predictions. */
DRAWERS.layers = (data, root) => {
  for (const model of data.models) {
    const readout = element("p", { class: "readout note", aria_live: "polite" });
    const rows = model.predictions.map((places, layer) => element("tr", {}, element("th", {}, `layer ${layer + 1}`),
      places.map((best, at) => {
        const chances = best.map((_, rank) => model.probabilities.at(layer, at, rank));
        const told = `layer ${layer + 1}, ${model.ahead ? "after" : "at"} ${model.symbols[at]}: ${best.map((one, rank) => `${one} ${percent(chances[rank])}`).join(", ")}`;
        const show = (event) => { readout.textContent = told; chosen(event.currentTarget, "symbol", { at, symbols: model.symbols }); };
        return element("td", { title: told, tabindex: 0, style: { background: shade("cool", 0.75 * chances[0]) }, on: { pointerenter: show, focus: show } }, best[0]);
      })));
    const head = element("tr", { class: "symbols" }, element("th", {}, model.ahead ? "after" : "at"),
      model.symbols.map((one) => element("th", { class: "symbol", data: { symbol: one } }, one)));
    root.append(element("section", {}, element("h2", {}, model.name),
      element("div", { class: "scroll" }, element("table", { class: "lens" }, head, rows.reverse())), readout));
  }
};

/* A text coloured by a unit: blue where it is positive, red where it is negative. */
DRAWERS.cells = (data, root) => {
  for (const model of data.models) {
    const taps = Object.keys(model.traces), state = { tap: model.tap, unit: model.unit };
    const drawn = element("div"), title = element("h2");
    const update = () => {
      const trace = model.traces[state.tap], [steps, units] = trace.shape;
      state.unit = Math.min(state.unit, units - 1);
      const values = Array.from({ length: steps }, (_, at) => trace.at(at, state.unit));
      const most = Math.max(...values.map(Math.abs), 1e-12);
      title.textContent = `${model.name}: ${state.tap}, unit ${state.unit + 1}`;
      drawn.replaceChildren(line(model.symbols, false, (at) => shade(values[at] > 0 ? "cool" : "heat", 0.8 * Math.abs(values[at]) / most),
        (at) => `${model.symbols[at]}: ${figure(values[at], 3)}`).root, plot([[`unit ${state.unit + 1}`, values]], "symbol", "value"));
    };
    const input = element("input", { type: "number", min: 1, max: model.traces[state.tap].shape[1], value: state.unit + 1, data: { unit: "" },
      on: { input: (event) => { state.unit = Math.max(0, Number(event.target.value) - 1); update(); chosen(input, "unit", state.unit + 1); } } });
    const found = model.found.map((one) => element("tr", {},
      element("td", {}, element("button", { type: "button", on: { click: () => { state.tap = one.tap; state.unit = one.unit; input.value = one.unit + 1; update(); } } }, one.track)),
      [one.agreement, one.by_chance, one.untrained, one.probe, one.cost_on, one.cost_off].map((value) => element("td", {}, figure(value, 3))),
      element("td", {}, one.real ? "yes" : "no"), element("td", {}, one.used ? "yes" : "no")));
    const head = ["track", "held out", "by chance", "untrained", "last eight symbols", "clamped, on", "clamped, off", "better than all", "confirmed"];
    root.append(element("section", {}, title,
      element("div", { class: "controls" },
        choice("values", taps, taps.indexOf(state.tap), (at) => { state.tap = taps[at]; update(); }), element("label", {}, "unit", input)),
      drawn,
      Object.entries(model.gates).map(([gate, [low, high]]) => {
        const [below, above] = gate.endsWith("candidate") ? ["near \u22121", "near 1"] : ["closed", "open"];
        return element("p", { class: "note" }, `${gate}: ${percent(low)} ${below}, ${percent(high)} ${above}`);
      }),
      found.length ? element("div", { class: "scroll" }, element("table", { class: "lens" }, element("tr", {}, head.map((one) => element("th", {}, one))), found)) : null));
    update();
  }
};

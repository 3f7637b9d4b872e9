/* A text; a click on a symbol hides it, and shows what would stand there. */
DRAWERS.masked = (data, root) => {
  for (const model of data.models) {
    const chart = element("div", { class: "bars" }), actual = model.actual.list();
    const surprise = (at) => Math.min(1, -Math.log2(Math.max(actual[at], 1e-12)) / 12);
    const drawn = line(model.symbols, true, (at) => shade("heat", 0.85 * surprise(at)),
      (at) => `${model.symbols[at]} has ${percent(actual[at])} here`);
    const hide = (hidden) => {
      drawn.cells.forEach((cell, at) => { cell.textContent = at === hidden ? "[MASK]" : model.symbols[at]; });
      const chances = model.probabilities.at(hidden).list(), most = Math.max(...chances, 1e-12);
      chart.replaceChildren(...model.guesses[hidden].map((guess, rank) => element("div", { class: "row" },
        element("span", { class: "name" }, guess), element("span", { class: "bar", style: { width: `${100 * chances[rank] / most}%` } }),
        element("span", { class: "value" }, percent(chances[rank])))));
    };
    drawn.cells.forEach((cell, at) => cell.addEventListener("click", () => hide(at)));
    root.append(element("section", {}, element("h2", {}, model.name), drawn.root, chart));
    hide(0);
  }
};

/* What each filter fires on, as bars; words are found by typing. */
DRAWERS.filters = (data, root) => {
  for (const model of data.models) {
    const list = element("div", { class: "columns" });
    const show = (word) => {
      const wanted = model.filters.filter((row) => !word || row.ngrams.some((one) => one.words.includes(word)));
      list.replaceChildren(...wanted.slice(0, 60).map(card), ...(wanted.length ? [] : [element("p", { class: "note" }, "No filter fires on it.")]));
    };
    const input = element("input", { type: "search", on: { input: (event) => show(event.target.value.trim()) } });
    root.append(element("section", {}, element("h2", {}, model.name),
      element("div", { class: "controls" }, element("label", {}, "with the word", input)), list));
    show("");
  }
};

function card(row) {
  const most = Math.max(...row.ngrams.map((one) => one.strength), 1e-12);
  const vote = row.label === undefined ? "" : `, votes for ${row.label} (${figure(row.weight, 3)})`;
  return element("section", { data: { filter: row.filter + 1 } }, element("h2", {}, `filter ${row.filter + 1}, width ${row.width}${vote}`),
    element("div", { class: "bars" }, row.ngrams.map((one) => element("div", { class: "row" },
      element("span", { class: "name", title: one.words.join(" ") }, one.words.join(" ")),
      element("span", { class: "bar", style: { width: `${100 * one.strength / most}%` } }),
      element("span", { class: "value" }, `${figure(one.strength)} (${one.times})`)))));
}

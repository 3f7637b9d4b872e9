/* The share of every layer. */
DRAWERS.mixing = (data, root) => {
  for (const model of data.models) {
    root.append(element("section", {}, element("h2", {}, `${model.name}, ${model.task}: gamma ${figure(model.gamma, 3)}`),
      element("div", { class: "bars" }, model.shares.list().map((share, layer) => element("div", { class: "row" },
        element("span", { class: "name" }, `layer ${layer}`), element("span", { class: "bar", style: { width: `${100 * share}%` } }),
        element("span", { class: "value" }, percent(share))))),
      (model.steps?.length ?? 0) > 1 ? plot(model.shares.list().map((_, layer) => [`layer ${layer}`, model.over.rows().map((row) => row.at(layer))]),
        "validations", "share over training") : null));
  }
};

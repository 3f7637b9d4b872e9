/* The tree of a beam search: a click on a branch continues from there, alone; the trail leads back. */
DRAWERS.beam = (data, root) => {
  for (const model of data.models) root.append(element("section", {}, data.models.length > 1 ? element("h2", {}, model.name) : null, searched(model)));
  root.append(element("p", { class: "note" }, "Natural log-probabilities of all symbols up to there; = 1 is the best text found."));
};

function searched(data) {
  const parents = [...data.parents.list()], logs = [...data.log_probabilities.list()];
  const lengths = [...data.lengths.list()], ranks = [...data.ranks.list()];
  const children = new Map();
  parents.forEach((parent, at) => children.set(parent, [...(children.get(parent) ?? []), at]));
  for (const some of children.values()) some.sort((one, other) => logs[other] - logs[one]);
  const pathTo = (at) => at < 0 ? [] : [...pathTo(parents[at]), at];
  const state = { from: -1, dropped: true };
  const trail = element("p", { class: "trail", aria_live: "polite" }), tree = element("div", { class: "scroll tree" });
  const go = (at) => { state.from = at; update(); };
  const told = (at) => `${figure(logs[at], 3)} after ${lengths[at]} symbols; ${data.states[at]}${data.reasons[at] ? `: ${data.reasons[at]}` : ""}`;
  const label = (at) => element("button", { type: "button", class: `node ${data.states[at]}`, title: told(at), data: { at }, on: { click: () => go(at) } },
    element("span", { class: "value" }, figure(logs[at])), " ", element("span", { class: "said" }, data.symbols[at]),
    ranks[at] ? element("span", { class: "rank" }, `= ${ranks[at]}`) : null);
  const branch = (from) => {
    const shown = (children.get(from) ?? []).filter((at) => state.dropped || data.states[at] !== "dropped");
    return shown.length ? element("ul", {}, shown.map((at) => element("li", {}, label(at), branch(at)))) : null;
  };
  const update = () => {
    const path = pathTo(state.from);
    trail.replaceChildren(
      element("button", { type: "button", on: { click: () => go(-1) } }, "all"), " ",
      ...path.flatMap((at) => [element("button", { type: "button", on: { click: () => go(at) } }, data.symbols[at]), " "]),
      element("span", { class: "note" }, state.from < 0 ? "Click on a branch to continue from there." : told(state.from)));
    tree.replaceChildren(branch(state.from) ?? element("p", { class: "note" }, "Nothing continues from here."));
  };
  const dropped = element("input", { type: "checkbox", checked: true, on: { change: () => { state.dropped = dropped.checked; update(); } } });
  update();
  return element("div", {}, element("div", { class: "controls" }, element("label", {}, dropped, "dropped ways")), trail, tree);
}

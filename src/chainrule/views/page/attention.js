/* Attention: all heads small, one head large, and where each symbol looks. */
DRAWERS.attention = (data, root) => {
  data.models.forEach((model, at) => {
    model.grids.forEach((grid, place) => {
      const title = element("h2", {}, data.models.length * model.grids.length > 1 ? `${data.names[at]}: ${grid.name}` : grid.name);
      root.append(element("section", {}, title, heads(grid, model.losses[place], data)));
    });
    if (model.habits) root.append(habits(model.habits));
  });
};

/* What each head looks at as a habit, over many texts. */
function habits({ names, shares, texts, long }) {
  const rows = shares.rows().flatMap((layer, at) => layer.rows().map((head, place) => element("tr", {}, element("th", {}, `${at + 1}.${place + 1}`),
    head.list().map((share) => element("td", { style: { background: shade("cool", share) } }, `${(100 * share).toFixed(0)} %`)))));
  return element("section", {}, element("h2", {}, `habits of the heads, over ${texts} texts${long ? ` (${long} that are too long are left out)` : ""}`), element("div", { class: "scroll" },
    element("table", { class: "lens" }, element("tr", {}, element("th"), names.map((one) => element("th", {}, one))), rows)));
}

function heads(grid, losses, data) {
  const [layers, count] = grid.weights.shape, large = element("div");
  const buttons = [];
  const choose = (layer, head) => {
    buttons.forEach((one, at) => one.setAttribute("aria-pressed", at === layer * count + head));
    large.replaceChildren(head_of(grid, layer, head));
  };
  const rows = Array.from({ length: layers }, () => element("div", { class: "heads" }));
  for (let layer = 0; layer < layers; layer += 1) {
    for (let head = 0; head < count; head += 1) {
      const flat = grid.flat.at(layer, head), cost = losses && losses.at(layer, head);
      const told = `flat ${(100 * flat).toFixed(0)} %${losses ? `, without it ${cost >= 0 ? "+" : "\u2212"}${Math.abs(cost).toFixed(3)} bits` : ""}`;
      buttons.push(element("button", { type: "button", title: told, data: { head: `${layer + 1}.${head + 1}` }, on: { click: (event) => { choose(layer, head); chosen(event.currentTarget, "head", `${layer + 1}.${head + 1}`); } } },
        thumbnail(grid.weights.at(layer, head)), `${layer + 1}.${head + 1}  ${told}`));
    }
  }
  rows.forEach((row, layer) => row.append(...buttons.slice(layer * count, (layer + 1) * count)));
  choose(Math.min(data.layer, layers - 1), Math.min(data.head, count - 1));
  return element("div", {}, rows, large);
}

const NAMED = 48; // symbols beside a heat map

/* One head: a heat map, and the text coloured by where a symbol looks. */
function head_of(grid, layer, head) {
  const weights = grid.weights.at(layer, head), [rows, columns] = weights.shape;
  const named = Math.max(rows, columns) <= NAMED, size = named ? 20 : Math.max(1, Math.floor(640 / Math.max(rows, columns)));
  const canvas = heat(weights);
  canvas.style.width = `${columns * size}px`;
  canvas.style.height = `${rows * size}px`;
  const readout = element("p", { class: "readout note", aria_live: "polite" });
  let keys;
  const look = (query) => keys.forEach((cell, at) => { cell.style.background = shade("cool", Math.sqrt(weights.at(query, at))); });
  const queries = line(grid.queries, true, () => "", (at) => described(grid, weights, at));
  const below = line(grid.keys, true, () => "", (at) => grid.keys[at]);
  keys = below.cells;
  queries.cells.forEach((cell, at) => {
    cell.addEventListener("pointerenter", () => look(at));
    cell.addEventListener("focus", () => look(at));
  });
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * rows)));
    const column = Math.min(columns - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * columns)));
    readout.textContent = `${grid.queries[row]} \u2192 ${grid.keys[column]}: ${percent(weights.at(row, column))}`;
    look(row);
  });
  look(rows - 1);
  return element("div", {},
    element("h2", {}, `layer ${layer + 1}, head ${head + 1}`),
    element("div", { class: "scroll" }, named ? labelled(canvas, grid, size) : element("div", { class: "grid" }, canvas)), readout,
    element("p", { class: "axis" }, "point at a symbol:"), queries.root,
    element("p", { class: "axis" }, "it looks at:"), below.root);
}

/* The heat map with the names of its rows and columns. */
function labelled(canvas, grid, size) {
  const names = (kind, symbols, side) => element("div", { class: kind }, symbols.map((one) =>
    element("span", { title: one, style: { [side]: `${size}px`, "line-height": `${size}px` } }, one)));
  return element("div", { class: "grid named" }, element("div"), names("across", grid.keys, "width"), names("down", grid.queries, "height"), canvas);
}

function described(grid, weights, query) {
  const shares = weights.at(query).list();
  const order = shares.map((_, at) => at).sort((one, other) => shares[other] - shares[one]).slice(0, 3);
  return `${grid.queries[query]} looks at ${order.map((at) => `${grid.keys[at]} ${(100 * shares[at]).toFixed(0)} %`).join(", ")}`;
}

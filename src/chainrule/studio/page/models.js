/* Models: what there is in the folder, how good it is, and what can be done with it. */
import { get, post } from "./api.js";
import { element } from "./dom.js";
import { about } from "./model.js";
import { models } from "./store.js";
import { alarm, asked, button, card, head, link, quiet, select, table, to, waiting } from "./widgets.js";
import { ago, bytes, figure } from "./words.js";

export const title = "Models";
const ORDERS = {
  newest: (one, other) => (one.created < other.created ? 1 : -1), name: (one, other) => one.name.localeCompare(other.name),
  best: (one, other) => best(one) - best(other), smallest: (one, other) => one.bytes - other.bytes
};
const MORE_IS_BETTER = /accuracy|f1|match|auc|pearson|spearman|r2/;
const STEP = 60;

/* The figure a card shows: the first of the test part, else of the validation part. */
export function main_figure(one) {
  const part = one.figures.test ?? one.figures.valid;
  const [name, value] = Object.entries(part ?? {})[0] ?? [];
  return name ? { name: name.replace(/_/g, " "), value } : null;
}

const described = (one) => [one.name, one.family, one.task, one.codec, one.data].join(" ").toLowerCase();

const best = (one) => {
  const found = main_figure(one);
  return !found || !Number.isFinite(found.value) ? Infinity : MORE_IS_BETTER.test(found.name) ? -found.value : found.value;
};

export function show(root, params) {
  const grid = element("div", { class: "grid" }), open = element("div"), told = element("div"), chosen = new Set();
  const search = element("input", { type: "search", placeholder: "Find a model", aria_label: "Find a model" });
  const order = select(Object.keys(ORDERS).map((name) => [name, name]), "newest", () => fill());
  const inner = element("input", { type: "checkbox", on: { change: () => fill() } }), innerLabel = element("label", { class: "inline" }, inner, element("span"));
  const bin = element("div");
  const compare = button("Compare", () => side(), "primary");
  let all = [], limit = STEP;

  const fill = () => {
    const words = search.value.toLowerCase().split(/\s+/), nested = all.filter((one) => one.name.includes("/")).length;
    innerLabel.hidden = !nested;
    innerLabel.lastChild.textContent = `with the ${nested} of comparisons`;
    const whole = all.filter((one) => inner.checked || search.value || !one.name.includes("/"));
    const wanted = whole.filter((one) => words.every((word) => described(one).includes(word))).sort(ORDERS[order.value]);
    grid.replaceChildren(...wanted.slice(0, limit).map((one) => shown(one, chosen, choose, act)));
    if (wanted.length > limit) grid.append(button(`Show ${wanted.length - limit} more`, () => { limit += 200; fill(); }, "wide"));
    if (!wanted.length) grid.append(element("div", { class: "empty" },
      element("p", {}, all.length ? "No model here." : "No models yet."),
      all.length ? null : link("Train one", "#/train", "button primary")));
  };
  const choose = () => { compare.hidden = chosen.size < 2; compare.textContent = `Compare ${chosen.size} models`; };
  const load = async (fresh) => {
    try {
      all = await models(fresh);
      fill();
      bin.replaceChildren(...binned((await get("/api/bin")).bin, (one) => change("restore", { binned: one.binned }, `${one.name} is back.`)));
    } catch (error) { grid.replaceChildren(alarm(error.message)); }
  };
  const side = () => { open.replaceChildren(sideBySide(
    all.filter((one) => chosen.has(one.name)), () => open.replaceChildren()
  )); open.scrollIntoView({ block: "start" }); };
  const act = {
    open: async (one) => {
      history.replaceState(null, "", to("models", { open: one.name }));
      open.replaceChildren(card(waiting("Opening …")));
      try {
        open.replaceChildren(about(
          await get("/api/model", { name: one.name }),
          () => { open.replaceChildren(); history.replaceState(null, "", "#/models"); }
        ));
      } catch (error) { open.replaceChildren(alarm(error.message)); }
      open.scrollIntoView({ block: "start" });
    },
    rename: async (one) => {
      const name = await asked(`Rename ${one.name}`, { value: one.name, yes: "Rename" });
      if (name && name !== one.name) await change("rename", { name: one.name, new: name }, `${one.name} is now called ${name}.`);
    },
    remove: async (one) => {
      if (!await asked(
        `Delete ${one.name}?`, { text: "It goes to the bin of this folder, and can be put back.", yes: "Delete", danger: true }
      )) return;
      const done = await change("delete", { name: one.name }, `${one.name} is in the bin.`);
      chosen.delete(one.name);
      choose();
      if (done && !one.name.includes("/")) told.firstChild.append(" ", button("Put it back",
        () => change("restore", { binned: done.binned }, `${one.name} is back.`),
        "small"));
    },
  };
  const change = async (what, values, words) => {
    try {
      const done = await post(`/api/models/${what}`, values);
      told.replaceChildren(element("p", { class: "note", role: "status" }, words));
      await load(true);
      return done ?? true;
    } catch (error) {
      told.replaceChildren(alarm(error.message));
      return null;
    }
  };
  search.addEventListener("input", () => { limit = STEP; fill(); });
  compare.hidden = true;
  root.append(head("Models", "Everything that was trained in this folder."), open,
    element("div", { class: "toolbar" }, search, element("label", { class: "inline" }, "by", order), innerLabel, compare), told, grid, bin);
  load(true).then(() => { const one = all.find((other) => other.name === params.get("open")); if (one) act.open(one); });
}

/* What was deleted, as long as it is in the bin. */
const binned = (all, restore) => all.length ? [element("details", { class: "card more", id: "bin" }, element("summary", {}, `In the bin: ${all.length}`),
  element("div", { class: "stack" }, all.map((one) => element("p", {}, one.name, " ", element("span", { class: "quiet small" }, ago(1000 * one.deleted)), " ",
    button("Put it back", () => restore(one), "small")))))] : [];

/* A card. */
function shown(one, chosen, choose, act) {
  const found = main_figure(one), nested = one.name.includes("/");
  const tick = element("input",
    {
      type: "checkbox", checked: chosen.has(one.name), aria_label: `Choose ${one.name} to compare`,
      on: { change: (event) => { event.target.checked ? chosen.add(one.name) : chosen.delete(one.name); choose(); } }
    });
  return element("article", { class: "card model", data: { model: one.name } },
    element("div", { class: "title" }, element("h3", {}, button(one.name.split("/").pop(), () => act.open(one), "name", { title: one.name })), tick),
    element("p", { class: "quiet small" }, [one.family, one.task, one.codec].join(" · "), nested ? ` · of ${one.name.split("/")[0]}` : ""),
    element("p", { class: "big" },
      found ? [
        element("strong", {}, figure(found.value)), element("span", { class: "quiet small" }, ` ${found.name}`)
      ] : element("span", { class: "quiet small" }, "no figures kept")),
    element("p", { class: "quiet small" }, [one.data, bytes(one.bytes), one.created ? ago(one.created) : null].filter(Boolean).join(" · ")),
    one.unfinished ? element("p", { class: "note" }, "unfinished") : null,
    element("div", { class: "actions small" },
      one.verbs.length ? link("Use", to("use", { model: one.name }), "button") : null, one.views.length ? link("Look", to("look", { model: one.name }), "button") : null,
      nested ? null : button("Rename", () => act.rename(one), "plain push"), button(
        "Delete", () => act.remove(one), nested ? "plain push" : "plain"
      )));
}

/* Several models as columns of one table. */
function sideBySide(chosen, close) {
  const judged = (one) => one.figures.test ?? one.figures.valid ?? {}, files = new Set(chosen.map((one) => one.data));
  const names = [...new Set(chosen.flatMap((one) => Object.keys(judged(one))))];
  const facts = [["family", (one) => one.family], ["task", (one) => one.task], ["codec", (one) => one.codec], ["data", (one) => one.data ?? ""], ["size", (one) => bytes(one.bytes)]];
  const rows = [
    ...facts.map(([name, of]) => [name, ...chosen.map(of)]),
    ...names.map((name) => [name.replace(/_/g, " "), ...chosen.map((one) => figure(judged(one)[name]))])];
  return element("section", { class: "card" },
    element("div", { class: "title" }, element("h2", {}, "Side by side"), button("Close", close, "plain push")),
    table(["", ...chosen.map((one) => one.name)], rows),
    quiet(files.size > 1 ? "They were judged on different data: their figures cannot be compared."
      : "Perplexities can be compared where the codec is the same; bits per byte always."),
    element("div", { class: "actions" },
      link("Surprise, side by side", to("look", { model: chosen[0].name, against: chosen[1].name }), "button")));
}

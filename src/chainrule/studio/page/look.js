/* Look: views of what a model computes, drawn by the same modules as in saved pages and notebooks, several at a time. */
import { ask, download } from "./api.js";
import { element } from "./dom.js";
import { linked } from "./linked.js";
import { settings } from "./settings.js";
import { catalogue, files, models } from "./store.js";
import { alarm, button, card, command, field, head, link, select, to, waiting } from "./widgets.js";

export const title = "Look";
const FORMATS = [".html", ".png", ".svg", ".json"];
const NO_TEXT = ["mixing", "recall"];

export function show(root, params) {
  const place = element("div", { class: "stack" }), board = element("div", { class: "board" });
  root.append(
    head("Look", "What a model computes about a text. Draw several views: a symbol or a head chosen in one is marked in the others."),
    place, board
  );
  place.append(waiting("Looking for models …"));
  const ending = new AbortController();
  linked(board);
  models().then((all) => {
    const seen = all.filter((one) => one.views.length);
    if (seen.length) build(place, board, seen, params, ending.signal);
    else place.replaceChildren(element("div", { class: "empty" },
      element("p", {}, "There is no model yet."),
      link("Train one", "#/train", "button primary")));
  }, (error) => place.replaceChildren(alarm(error.message)));
  return () => ending.abort();
}

function build(place, board, all, params, signal) {
  const state = { model: all.find((one) => one.name === params.get("model")) ?? all[0], view: params.get("view"), given: () => ({}) };
  const chosen = select(all.map((one) => [one.name, `${one.name} (${one.family}, ${one.task})`]),
    state.model.name,
    (name) => { state.model = all.find((one) => one.name === name); views(); });
  const against = select([], ""), view = select([], "", (name) => { state.view = name; describe(); }), help = element("p", { class: "help" });
  const text = element("textarea", { rows: 2, spellcheck: "false", dir: "auto" }), more = element("div", { class: "settings" });
  const run = button("Draw", () => add(), "primary"), named = field("View", view), typed = field("Text", text);
  text.value = params.get("text") ?? "she was late for class";
  named.append(help);

  const views = () => {
    const fit = state.model.views;
    if (!fit.includes(state.view)) state.view = params.get("against") && fit.includes("surprise") ? "surprise" : fit[0];
    view.fill(fit.map((name) => [name, name]), state.view);
    against.fill(
      [["", "nothing"], ...all.filter((one) => one.name !== state.model.name && one.views.includes(state.view)).map((one) => [one.name, one.name])],
      against.value || params.get("against") || ""
    );
    describe();
  };
  const describe = async () => {
    typed.hidden = NO_TEXT.includes(state.view);
    history.replaceState(null, "", to("look", { model: state.model.name, view: state.view }));
    catalogue().then((found) => { help.textContent = found.views.find((one) => one.name === state.view)?.help ?? ""; }, () => {});
    try {
      const [groups, found] = await Promise.all([ask("settings", { view: state.view }, signal), files()]);
      state.given = settings(more, groups, { files: found.files.map((one) => one.name) });
      const run = more.querySelector("[id^=set-run-]");
      if (run && state.model.run) run.value = state.model.run;
    } catch (error) { if (error.name !== "AbortError") more.replaceChildren(alarm(error.message)); }
  };
  const question = () => ({
    model: state.model.name, against: against.value ? [against.value] : [], text: typed.hidden ? "" : text.value,
    view: state.view, settings: state.given()
  });
  const add = (asked = question()) => board.prepend(figure(asked, signal, (symbol) => onward(asked, symbol)));
  const onward = async (asked, symbol) => {
    try {
      text.value = await ask("continue", { model: asked.model, text: asked.text, symbol }, signal);
      add({ ...asked, text: text.value });
    } catch (error) { board.prepend(alarm(error.message)); }
  };
  place.replaceChildren(card(element("div", { class: "stack" },
    element("div", { class: "fields three" }, field("Model", chosen), named, field("Beside", against, "Another model, side by side.")), typed,
    element("details", { class: "more" }, element("summary", {}, "Settings of this view"), more),
    element("div", { class: "actions" }, run, button("Clear", () => board.replaceChildren(), "plain")))));
  views();
}

/* One drawn view, in a root of its own so that its style and the studio's do not meet. */
function figure(asked, signal, onward) {
  const host = element("div", { class: "view" }), told = element("div"), control = new AbortController();
  const save = (format) => async () => {
    told.replaceChildren(waiting("Writing it …"));
    try {
      await download("/api/save", { ...asked, format }, `${asked.view}${format}`);
      told.replaceChildren();
    } catch (error) { told.replaceChildren(alarm(error.message)); }
  };
  const root = element("section", { class: "card figure", data: { view: asked.view } },
    element("div", { class: "actions small" }, element(
      "span", { class: "quiet" }, `${asked.model} · ${asked.view}`
    ), FORMATS.map((format, at) => button(format.slice(1).toUpperCase(),
      save(format),
      at ? "plain" : "plain push",
      { title: `Save as ${format}` })),
      button("Close", () => { control.abort(); root.remove(); }, "plain")), told, host);
  const stop = button("Stop", () => control.abort());
  host.append(waiting("Computing …"), stop);
  signal.addEventListener("abort", () => control.abort());
  Promise.all([ask("look", asked, control.signal), import("/views.js")]).then(([view, { draw }]) => {
    const inner = element("div");
    host.replaceChildren();
    host.attachShadow({ mode: "open" }).append(element("link", { rel: "stylesheet", href: "/views.css" }), inner);
    const { command: made, ...meta } = view.meta;
    draw({ ...view, meta }, inner);
    if (view.kind === "next") inner.addEventListener("click", (event) => follow(event, onward), true);
    root.append(command(made));
    root.dataset.drawn = view.kind;
  }).catch((error) => host.replaceChildren(error.name === "AbortError" ? waiting("Stopped.") : alarm(error.message)));
  return root;
}

/* In the distribution over the next symbol, a click on one continues from there: here the model is asked, where a saved page has
   only what it was given. */
function follow(event, onward) {
  const symbol = event.target.closest?.(".bars .row")?.querySelector(".name")?.title;
  if (!symbol || symbol === "(all others)") return;
  event.stopPropagation();
  onward(symbol);
}

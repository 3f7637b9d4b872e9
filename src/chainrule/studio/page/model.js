/* One model, opened: where it comes from, how it learnt, its layers, and files for other programs. */
import { ask, post } from "./api.js";
import { curve } from "./curve.js";
import { element } from "./dom.js";
import { alarm, button, link, quiet, table, to } from "./widgets.js";
import { bytes, count, figure } from "./words.js";

const EXPORTS = { ngram: ["arpa"], vectors: ["vectors"], gpt: ["hf"], bert: ["hf"], transformer: ["hf"] };
const HIDDEN = ["vocab_size", "suppressed", "parts", "weights"];
const NAMES = { arpa: "ARPA (KenLM)", vectors: "word2vec", hf: "Hugging Face" };

export function about(one, close) {
  const told = element("div", { class: "stack" }), layers = element("div");
  const parts = Object.entries(one.figures), names = [...new Set(parts.flatMap(([, part]) => Object.keys(part)))];
  const values = Object.entries(one.model).filter(([name, value]) => !HIDDEN.includes(name) && value !== null && typeof value !== "object");
  const losses = merged(one.losses, one.history);
  return element("section", { class: "card opened", data: { opened: one.name } },
    element("div", { class: "title" }, element("h2", {}, one.name), button("Close", close, "plain push")),
    element("p", { class: "quiet" },
      [one.family, one.task, one.codec, one.data, bytes(one.bytes), one.created.slice(0, 16).replace("T", " ")].filter(Boolean).join(" · ")),
    one.unfinished ? element("p", { class: "note" }, `Unfinished: ${one.unfinished}.`) : null,
    parts.length ? table(["", ...names.map((name) => name.replace(/_/g, " "))],
      parts.map(([part, figures]) => [part, ...names.map((name) => figure(figures[name]))])) : quiet("No figures were kept with it."),
    losses.length > 1 ? curve(losses, { across: (step) => `${count(Math.round(step))} steps` }) : null,
    element("div", { class: "actions" },
      one.verbs.length ? link("Use it", to("use", { model: one.name }), "button primary") : null, link("Look inside", to("look", { model: one.name }), "button"),
      button("Layers", () => show(layers, one.name)), (EXPORTS[one.family] ?? []).map((format) => button(
        `Export for ${NAMES[format]}`, () => exported(told, one.name, format)
      ))),
    told, layers,
    element("details", { class: "more" }, element("summary", {}, "Settings and notes"),
      table(["setting", ""], values.map(([name, value]) => [name.replace(/_/g, "-"), String(value)])),
      (one.card.notes ?? []).map((note) => element("p", { class: "note" }, note))));
}

/* Training losses and validations as one list of points by step. */
function merged(losses, history) {
  const points = [
    ...losses.map((one) => [one.step, one.train, null]),
    ...history.map((one) => [one.step, losses.length ? null : one.train, one.valid])
  ];
  return points.sort((one, other) => one[0] - other[0]);
}

async function show(root, name) {
  root.replaceChildren(quiet("Counting …"));
  try {
    const { layers, parameters } = await ask("show", { model: name });
    const shape = (one) => one === null || one === undefined ? "" : `(${one.join(", ")})`;
    root.replaceChildren(quiet(`${count(parameters)} parameters`), layers.length ? table(["layer", "kind", "output", "parameters"],
      layers.map((one) => [one.name, one.kind, shape(one.output), count(one.parameters)])) : quiet("It counts: there are no layers."));
  } catch (error) { root.replaceChildren(alarm(error.message)); }
}

async function exported(told, model, format) {
  try {
    await post("/api/jobs", { make: "exporting", model, format });
    told.replaceChildren(element("p", { class: "note", role: "status" },
      "It is being written; the page Train tells when it is there. ",
      link("See", "#/train")));
  } catch (error) { told.replaceChildren(alarm(error.message)); }
}

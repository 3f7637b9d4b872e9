/* Use: give a model something to read, and see what it makes of it. */
import { stream, ask } from "./api.js";
import { element } from "./dom.js";
import { rating } from "./rating.js";
import { models } from "./store.js";
import { VERBS } from "./verbs.js";
import { alarm, button, card, command, field, head, link, quiet, segments, select, to, waiting } from "./widgets.js";

export const title = "Use";

export function show(root, params) {
  const place = element("div", { class: "stack" });
  root.append(head("Use", "Generate, complete, score, fill, predict, translate: what fits the model."), place, rating());
  place.append(waiting("Looking for models …"));
  const ending = { stop: () => {} };
  models().then((all) => {
    const usable = all.filter((one) => one.verbs.length);
    if (usable.length) build(place, usable, params, ending);
    else place.replaceChildren(element("div", { class: "empty" },
      element("p", {}, "There is no model yet."),
      link("Train one", "#/train", "button primary")));
  }, (error) => place.replaceChildren(alarm(error.message)));
  return () => ending.stop();
}

function build(place, all, params, ending) {
  const state = {
    model: all.find((one) => one.name === params.get("model")) ?? all[0], verb: params.get("verb"), values: {},
    text: params.get("text") ?? ""
  };
  const chosen = select(all.map((one) => [one.name, `${one.name} (${one.family}, ${one.task})`]),
    state.model.name,
    (name) => { state.model = all.find((one) => one.name === name); verbs(); });
  const tabs = element("div"), form = element("div", { class: "stack" }), output = element("div", { class: "stack output", aria_live: "polite" });
  const verbs = () => {
    const able = state.model.verbs.filter((name) => VERBS[name]);
    if (!able.includes(state.verb)) [state.verb] = able;
    tabs.replaceChildren(segments("What to do",
      able.map((name) => [name, VERBS[name].label]),
      state.verb,
      (name) => { state.verb = name; asking(); }));
    asking();
  };
  const asking = () => {
    ending.stop();
    history.replaceState(null, "", to("use", { model: state.model.name, verb: state.verb }));
    output.replaceChildren();
    form.replaceChildren(...questions(state, output, ending));
  };
  place.replaceChildren(element("div", { class: "two" }, card(element("div", { class: "stack" }, field("Model", chosen), tabs, form)), output));
  verbs();
}

/* The inputs of one verb and its button. */
function questions(state, output, ending) {
  const verb = VERBS[state.verb];
  const text = element("textarea", { rows: verb.rows ?? 4, placeholder: verb.example, spellcheck: "false", dir: "auto" });
  text.value = state.text;
  text.addEventListener("input", () => { state.text = text.value; });
  const second = verb.second ? element("input", { type: "text", dir: "auto" }) : null;
  const inputs = (verb.settings ?? []).map(([name, label, usual, more]) => [
    name, label, element("input", { type: "number", placeholder: usual, ...more })
  ]);
  const values = () => Object.fromEntries(inputs.filter(([, , input]) => input.value !== "").map(([name, , input]) => [name, Number(input.value)]));
  const stop = button("Stop", () => ending.stop()), run = button(verb.label, () => go(), "primary");
  stop.hidden = true;
  const go = async () => {
    const control = new AbortController();
    ending.stop = () => control.abort();
    const question = {
      model: state.model.name, text: text.value || (verb.example ?? ""), settings: values(),
      ...(second ? { second: second.value } : {})
    };
    run.disabled = true;
    stop.hidden = false;
    output.replaceChildren(waiting("Loading the model …"));
    try {
      const answer = state.verb === "generate" ? await written(question, output, control.signal) : await ask(state.verb, question, control.signal);
      const drawn = answer?.seed ?? null; // what was drawn by chance can be drawn again
      const same = drawn === null || question.settings.beam ? question : { ...question, settings: { ...question.settings, seed: drawn } };
      output.replaceChildren(...verb.shown(answer, question), command(verb.command(same)));
    } catch (error) {
      if (error.name === "AbortError") output.append(quiet("Stopped."));
      else output.replaceChildren(alarm(error.message));
    }
    run.disabled = false;
    stop.hidden = true;
  };
  return [field(verb.asks, text, verb.help), second ? field(verb.second, second) : null,
    inputs.length ? element("div", { class: "fields" }, inputs.map(([, label, input]) => field(label, input))) : null,
    element("div", { class: "actions" },
      run,
      stop,
      element("span", { class: "quiet small push keys" }, element("kbd", {}, "Ctrl"), " ", element("kbd", {}, "Enter")))].filter(Boolean);
}

/* A text as it is drawn. */
async function written(question, output, signal) {
  const drawn = element("span"), place = element("p", { class: "text" }, drawn, element("span", { class: "caret", aria_hidden: true }));
  let begun = false;
  return stream({ do: "generate", ...question }, (piece) => {
    if (!begun) output.replaceChildren(card(place));
    begun = true;
    drawn.append(piece);
  }, signal);
}

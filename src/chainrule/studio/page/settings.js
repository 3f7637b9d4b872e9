/* All settings of a training or a view, from what the program says of them: their names, helps, ranges and defaults. */
import { element } from "./dom.js";
import { quiet } from "./widgets.js";

/* Draws groups of settings into `root`; gives a function that tells those that were changed. `left` names are drawn elsewhere. */
export function settings(root, groups, { left = [], changed = () => {}, files = [] } = {}) {
  const inputs = new Map();
  const sections = groups.map(({ title, settings: all }) => {
    const own = all.filter((one) => !left.includes(one.name)).map((one) => {
      const input = made(one, changed, files);
      inputs.set(one.name, [one, input]);
      return row(one, input);
    });
    return own.length ? element("fieldset", { class: "group" }, groups.length > 1 ? element("legend", {}, title) : null, own) : null;
  });
  root.replaceChildren(...sections.filter(Boolean));
  if (!inputs.size) root.append(quiet("Nothing to set."));
  if (inputs.size > 12) root.prepend(search(root));
  return () => Object.fromEntries([...inputs].map(([name, [one, input]]) => [name, value(one, input)]).filter(([, given]) => given !== undefined));
}

const row = (one, input) => element("div", { class: "setting", data: { search: `${one.name} ${one.help}`.toLowerCase() } },
  element("label", { for: input.id }, one.name.replace(/_/g, "-")), input, element("p", { class: "help" }, one.help));

function made(one, changed, files) {
  const id = `set-${one.name}-${Math.random().toString(36).slice(2, 7)}`, on = { input: changed };
  const usual = one.default === null ? one.chosen ? "chosen" : "–" : String(one.default);
  if (one.kind === "switch") {
    const yes = one.default ? "on" : "off";
    return element("select", { id, on },
      [
        ["", one.chosen || one.default === null ? "as usual" : `${yes} (default)`], ["yes", "on"], ["no", "off"]
      ].map(([key, label]) => element("option", { value: key }, label)));
  }
  if (one.kind === "choice" || one.file) {
    const names = one.file ? files : one.choices;
    return element("select", { id, on },
      element("option", { value: "" }, one.file ? "none" : usual),
      names.map((name) => element("option", { value: name }, name)));
  }
  const number = one.kind !== "text";
  return element("input",
    {
      id, on, type: number ? "number" : "text", placeholder: usual, min: number ? one.low : undefined,
      max: number ? one.high : undefined, step: one.kind === "integer" ? 1 : number ? "any" : undefined
    });
}

function value(one, input) {
  const given = input.value.trim();
  if (given === "") return undefined;
  if (one.kind === "switch") return given === "yes";
  return one.kind === "integer" || one.kind === "number" ? Number(given) : given;
}

function search(root) {
  return element("input", { type: "search", class: "find", placeholder: "Find a setting", aria_label: "Find a setting", on: { input: (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    for (const one of root.querySelectorAll(".setting")) one.hidden = !one.dataset.search.includes(wanted);
    for (const one of root.querySelectorAll(".group")) one.hidden = !one.querySelector(".setting:not([hidden])");
  } } });
}

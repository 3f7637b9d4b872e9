/* The parts that pages are made of. */
import { element } from "./dom.js";

export const button = (label, does, kind = "", more = {}) => element("button", { type: "button", class: kind, on: { click: does }, ...more }, label);
export const link = (label, to, kind = "") => element("a", { href: to, class: kind }, label);
export const quiet = (...inside) => element("p", { class: "quiet" }, inside);
export const card = (...inside) => element("section", { class: "card" }, inside);
export const head = (title, lead) => element("header", { class: "head" }, element("h1", {}, title), element("p", { class: "lead" }, lead));
export const alarm = (text) => element("p", { class: "alarm", role: "alert" }, text);
export const waiting = (text) => element("p", { class: "waiting", role: "status" }, text);
export const to = (page, values = {}) => `#/${page}?${new URLSearchParams(values)}`;

let numbers = 0;

/* A labelled input with a line of help below it. */
export function field(label, input, help = "") {
  numbers += 1;
  input.id ||= `field-${numbers}`;
  const told = help ? element("p", { class: "help", id: `${input.id}-help` }, help) : null;
  if (told) input.setAttribute("aria-describedby", told.id);
  return element("div", { class: "field" }, element("label", { for: input.id }, label), input, told);
}

/* A choice of one among many; options are [value, label] pairs. */
export function select(options, chosen, changed) {
  const made = element("select", { on: { change: () => changed?.(made.value) } });
  const fill = (pairs, value) => {
    made.replaceChildren(...pairs.map(([name, label]) => element("option", { value: name, selected: name === value }, label)));
  };
  fill(options, chosen);
  made.fill = fill;
  return made;
}

/* A choice of one among few, side by side; arrow keys move, as among radio buttons, which they are. */
export function segments(label, options, chosen, changed) {
  numbers += 1;
  const name = `segments-${numbers}`;
  return element("fieldset", { class: "segments" }, element("legend", {}, label), element("div", {}, options.map(([value, text]) => element("label", {},
    element("input", { type: "radio", name, value, checked: value === chosen, on: { change: () => changed(value) } }), element("span", {}, text)))));
}

/* The command that does the same. */
export function command(text) {
  const copy = button("Copy", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  }, "small plain");
  return element("div", { class: "command" }, element("code", {}, text), copy);
}

/* A table: heads, then rows of cells; columns of numbers are aligned to the right, heads included. */
export function table(heads, rows, caption = "") {
  const numeric = heads.map((_, at) => at > 0 && rows.some((row) => NUMBER.test(row[at] ?? "")) && rows.every((row) => !row[at] || NUMBER.test(row[at])));
  const kind = (at) => numeric[at] ? "number" : undefined;
  return element("div", { class: "scroll" }, element("table", {},
    caption ? element("caption", {}, caption) : null,
    element("thead", {}, element("tr", {}, heads.map((one, at) => element("th", { scope: "col", class: kind(at) }, one)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((value, at) => element("td", { class: kind(at) }, value ?? "")))))));
}
const NUMBER = /^[−\d.,:∞–]+( (%|s|min|kB|MB|GB|bytes))?$/;

/* Horizontal bars: [label, share of the longest, text]. */
export const bars = (rows) => element("div", { class: "bars" }, rows.map(([label, share, text]) => element("div", { class: "row" },
  element("span", { class: "name", title: label }, label),
  element("span", { class: "track" }, element("span", { class: "bar", style: { width: `${Math.max(0.3, 100 * share)}%` } })),
  element("span", { class: "value" }, text))));

/* A question that must be answered first; resolves to the text, or to true, or to null. */
export function asked(title, { text = "", value = null, yes = "OK", danger = false } = {}) {
  return new Promise((done) => {
    const input = value === null ? null : element("input", { type: "text", value, aria_label: title });
    const box = element("dialog", { on: { close: () => { box.remove(); done(box.returnValue === "yes" ? input?.value.trim() ?? true : null); } } },
      element("form", { method: "dialog" }, element("h2", {}, title), text ? quiet(text) : null, input,
        element("div", { class: "actions" },
          element("button", { value: "no", formnovalidate: true, type: "button", on: { click: () => box.close("no") } }, "Cancel"),
          element("button", { value: "yes", class: danger ? "danger" : "primary" }, yes))));
    document.body.append(box);
    box.showModal();
    input?.select();
  });
}

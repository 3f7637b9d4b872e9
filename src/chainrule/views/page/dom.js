/* Elements, and what every view shares. Text is always set as text, never as markup. */
const DRAWERS = {};

function element(name, settings = {}, ...inside) {
  const made = document.createElement(name);
  const { style = {}, data = {}, on = {}, ...attributes } = settings;
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(key.replace(/_/g, "-"), value === true ? "" : value);
  }
  for (const [key, value] of Object.entries(style)) made.style.setProperty(key, value);
  Object.assign(made.dataset, data);
  for (const [event, does] of Object.entries(on)) made.addEventListener(event, does);
  made.append(...inside.flat().filter((one) => one !== null && one !== undefined));
  return made;
}

const percent = (share) => share >= 0.001 || share === 0 ? `${(100 * share).toFixed(2)} %` : `${(100 * share).toExponential(1)} %`;
const figure = (value, digits = 2) => value === null || Number.isNaN(value) ? "no value"
  : Number.isFinite(value) ? value.toFixed(digits).replace("-", "\u2212") : value > 0 ? "\u221e" : "\u2212\u221e";

/* A slider with what it says; `told` makes its words. */
function slider(label, settings, changed, told = String) {
  const said = element("output", {}, told(Number(settings.value)));
  const input = element("input", { type: "range", ...settings });
  input.addEventListener("input", () => { said.textContent = told(Number(input.value)); changed(Number(input.value)); });
  return element("label", {}, label, input, said);
}

/* A choice of one among several. */
function choice(label, names, chosen, changed) {
  const select = element("select", { on: { change: () => changed(Number(select.value)) } },
    names.map((name, at) => element("option", { value: at, selected: at === chosen }, name)));
  return element("label", {}, label, select);
}

/* Says what was chosen, so that whoever shows several views can mark it in the others. */
const chosen = (from, name, detail) => from.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));

/* A text whose symbols are told when one points at them or steps through them by the arrow keys. */
function line(symbols, spaced, colour, told) {
  const readout = element("p", { class: "readout note", aria_live: "polite" });
  const cells = symbols.map((symbol, at) => {
    const cell = element("button", { type: "button", class: "symbol", tabindex: at ? -1 : 0, title: told(at), data: { symbol } }, symbol);
    const ground = colour(at);
    if (ground) cell.style.background = ground;
    const show = () => {
      for (const one of cells) one.classList.toggle("active", one === cell);
      readout.textContent = told(at);
      chosen(cell, "symbol", { at, symbols });
    };
    cell.addEventListener("pointerenter", show);
    cell.addEventListener("focus", show);
    cell.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = step && cells[at + step];
      if (next) { next.focus(); event.preventDefault(); }
    });
    return cell;
  });
  const words = cells.flatMap((cell) => spaced ? [cell, " "] : [cell]);
  return { root: element("div", {}, element("p", { class: "symbols" }, words), readout), cells };
}

/* A colour of the page's style with an opacity. */
const shade = (name, share) => `rgb(var(--${name}) / ${Math.max(0, Math.min(1, share)).toFixed(3)})`;

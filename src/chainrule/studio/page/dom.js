/* Elements. Text is always set as text, never as markup, so nothing that a file or a model says can become part of the page. */

export function element(name, settings = {}, ...inside) {
  const made = document.createElement(name);
  const { style = {}, data = {}, on = {}, ...attributes } = settings;
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) made.setAttribute(key.replace(/_/g, "-"), value === true ? "" : value);
  }
  for (const [key, value] of Object.entries(style)) made.style.setProperty(key, value);
  Object.assign(made.dataset, data);
  for (const [event, does] of Object.entries(on)) made.addEventListener(event, does);
  made.append(...inside.flat(3).filter((one) => one !== null && one !== undefined && one !== false));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function drawn(name, attributes = {}, ...inside) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

"use strict";
/* Sorting, pointing and choosing; the page says everything without them, too. */
document.documentElement.classList.add("script");

/* A click on a head sorts by that column; what failed or has no value stays below. */
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const given = [...body.rows];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.classList.contains("failed") ? undefined : row.cells[column].dataset.value;
      const order = (one, other) => {
        const [left, right] = [value(one), value(other)];
        if (left === undefined || right === undefined) return (left === undefined) - (right === undefined);
        const by = column ? Number(left.replace("inf", "Infinity")) - Number(right.replace("inf", "Infinity"))
          : left.localeCompare(right);
        return (down ? -by : by) || 0;
      };
      body.append(...[...given].sort(order));
    });
  });
}

/* Two models side by side on held-out text. */
const source = document.getElementById("surprise-data");
if (source) {
  const { symbols, names, bits, ceiling } = JSON.parse(source.textContent);
  const staff = document.getElementById("staff");
  const readout = document.getElementById("readout");
  const cells = [...staff.querySelectorAll(".cell")];
  const selects = ["upper", "lower"].map((name) => document.getElementById(name)).filter(Boolean);
  const rows = () => selects.length ? selects.map((select) => bits[Number(select.value)]) : [bits[0]];
  const chosen = () => selects.length ? selects.map((select) => names[Number(select.value)]) : [names[0]];
  const level = (value) => value === null ? "lx" : "l" + Math.min(9, Math.max(0, Math.floor(10 * value / ceiling)));
  const difference = (upper, lower) => {
    if (upper === null || lower === null) return "";
    const step = Math.min(5, Math.floor(10 * Math.abs(upper - lower) / ceiling + 0.5));
    return step ? (upper < lower ? "u" : "w") + step : "";
  };
  const said = (value) => Math.abs(value) < 9e5 ? value.toFixed(2).replace("-", "\u2212")
    : value < 0 ? "\u2212\u221e" : "\u221e";
  const figure = (value) => value === null ? "no value" : said(value) + " bits";
  let active = -1;

  const colour = () => {
    const shown = rows();
    cells.forEach((cell, at) => {
      shown.forEach((row, line) => { cell.children[line].className = level(row[at]); });
      if (shown.length === 2) cell.children[2].className = difference(shown[0][at], shown[1][at]);
    });
  };
  const described = (at) => {
    const called = chosen();
    const values = rows().map((row) => row[at]);
    const parts = values.map((value, line) => called[line] + ": " + figure(value));
    if (values.length === 2 && values[0] !== null && values[1] !== null) {
      parts.push("difference: " + said(values[0] - values[1]));
    }
    return "Symbol " + (at + 1) + " " + JSON.stringify(symbols[at]) + " \u00b7 " + parts.join(" \u00b7 ");
  };
  const point = (at) => {
    if (active >= 0) cells[active].setAttribute("aria-selected", "false");
    active = at;
    cells[at].setAttribute("aria-selected", "true");
    staff.setAttribute("aria-activedescendant", cells[at].id);
    readout.textContent = described(at);
  };
  const keys = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10, Home: -Infinity, End: Infinity };

  staff.tabIndex = 0;
  staff.setAttribute("role", "listbox");
  staff.setAttribute("aria-label", "Held-out text, symbol by symbol");
  cells.forEach((cell, at) => {
    cell.id = "symbol-" + at;
    cell.setAttribute("role", "option");
    cell.setAttribute("aria-selected", "false");
    cell.removeAttribute("title");
  });
  const pointed = (event) => {
    const at = cells.indexOf(event.target.closest(".cell"));
    if (at >= 0 && at !== active) point(at);
  };
  staff.addEventListener("pointerover", pointed);
  staff.addEventListener("click", pointed);
  staff.addEventListener("keydown", (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    point(Math.min(cells.length - 1, Math.max(0, active + keys[event.key])));
    cells[active].scrollIntoView({ block: "nearest" });
  });
  for (const select of selects) {
    select.addEventListener("change", () => {
      colour();
      if (active >= 0) readout.textContent = described(active);
      const fixed = document.querySelectorAll(".fixed b");
      chosen().forEach((name, line) => { fixed[line].textContent = name; });
    });
  }
}

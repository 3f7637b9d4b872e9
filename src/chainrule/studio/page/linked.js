/* Linked selection: what is pointed at in one view is marked in the others that show the same. */

const roots = (board) => [...board.querySelectorAll(".view")].map((one) => one.shadowRoot).filter(Boolean);

/* The symbols of a text without the marks of its beginning and end, which some views have and others have not. */
function inner(symbols) {
  const from = symbols[0] === "<s>" ? 1 : 0, end = symbols.at(-1) === "</s>" ? symbols.length - 1 : symbols.length;
  return { symbols: symbols.slice(from, end), from };
}

export function linked(board) {
  let busy = false;
  board.addEventListener("symbol", ({ detail }) => {
    const wanted = inner(detail.symbols), text = wanted.symbols.join("\n"), place = detail.at - wanted.from;
    for (const root of roots(board)) {
      for (const line of root.querySelectorAll(".symbols")) {
        const cells = [...line.querySelectorAll(".symbol")], own = inner(cells.map((one) => one.dataset.symbol));
        const same = own.symbols.join("\n") === text && place >= 0 && place < own.symbols.length;
        cells.forEach((one, at) => one.classList.toggle("linked", same && at - own.from === place && !one.classList.contains("active")));
      }
    }
  });
  board.addEventListener("head", ({ detail }) => {
    if (busy) return; // pressing a button below says so again
    busy = true;
    for (const root of roots(board)) for (const one of root.querySelectorAll(`[data-head="${detail}"][aria-pressed="false"]`)) one.click();
    busy = false;
  });
  board.addEventListener("unit", ({ detail }) => {
    if (busy) return;
    busy = true;
    for (const root of roots(board)) {
      for (const input of root.querySelectorAll("input[data-unit]")) {
        if (input.value !== String(detail) && Number(input.max) >= detail) {
          input.value = detail;
          input.dispatchEvent(new Event("input"));
        }
      }
    }
    busy = false;
  });
}

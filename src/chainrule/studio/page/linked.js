/* Linked selection: what is pointed at in one view is marked in the others that show the same. */

const roots = (board) => [...board.querySelectorAll(".view")].map((one) => one.shadowRoot).filter(Boolean);

export function linked(board) {
  let busy = false;
  board.addEventListener("symbol", ({ detail }) => {
    for (const root of roots(board)) {
      for (const line of root.querySelectorAll(".symbols")) {
        const cells = [...line.querySelectorAll(".symbol")];
        const same = cells.length === detail.symbols.length && cells.every((one, at) => one.dataset.symbol === detail.symbols[at]);
        cells.forEach((one, at) => one.classList.toggle("linked", same && at === detail.at && !one.classList.contains("active")));
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

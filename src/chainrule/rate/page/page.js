"use strict";
const KEYS = {
  ArrowLeft: "left", 1: "left", ArrowRight: "right", 2: "right", ArrowDown: "tie", 0: "tie", u: "back", U: "back", Backspace: "back",
};
const at = (name) => document.getElementById(name);
let rater = (new URLSearchParams(location.search).get("rater") || "").trim();
let pair = null; // the one that is shown
let waiting = false; // for the answer to a click

function tell(text, alarm = false) {
  at("told").textContent = text;
  at("told").classList.toggle("alarm", alarm);
}

function only(name) {
  for (const one of ["asking", "rating", "finished"]) at(one).hidden = one !== name;
  at("progress").hidden = name === "asking";
}

function show(found) {
  pair = found.finished ? null : found.pair;
  at("bar").style.width = `${100 * found.rated / found.pairs}%`;
  at("who").textContent = `${rater}: ${found.rated} of ${found.pairs} rated`;
  only(found.finished ? "finished" : "rating");
  if (found.finished) return;
  at("left").textContent = found.left;
  at("right").textContent = found.right;
  at("given").hidden = found.source === null;
  at("source").textContent = found.source || "";
  if (document.activeElement && document.activeElement.blur) document.activeElement.blur();
}

async function ask(place, values, done) {
  if (waiting) return;
  waiting = true;
  try {
    const how = values && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(values) };
    const answer = await fetch(place, how || {});
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    show(found);
    tell(done);
  } catch (error) {
    const lost = error instanceof TypeError ? "The server does not answer: start it again, then choose again." : error.message;
    tell(`${values ? "Not saved. " : ""}${lost}`, true);
  } finally {
    waiting = false;
  }
}

function begin() {
  if (!rater) {
    only("asking");
    at("name").focus();
    return;
  }
  const address = new URL(location.href);
  address.searchParams.set("rater", rater);
  history.replaceState(null, "", address);
  ask(`/next?rater=${encodeURIComponent(rater)}`, null, "");
}

function act(choice) {
  if (!rater || (choice !== "back" && pair === null)) return;
  if (choice === "back") ask("/back", { rater, pair }, "Choose again; the last choice counts.");
  else ask("/rate", { rater, pair, choice }, "Saved.");
}

at("asking").addEventListener("submit", (event) => {
  event.preventDefault();
  rater = at("name").value.trim();
  begin();
});
for (const one of document.querySelectorAll("[data-choice]")) one.addEventListener("click", () => act(one.dataset.choice));
at("back").addEventListener("click", () => act("back"));
at("again").addEventListener("click", () => act("back"));
document.addEventListener("keydown", (event) => {
  if (event.target === at("name") || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const choice = KEYS[event.key];
  if (choice === undefined) return;
  event.preventDefault();
  act(choice);
});
begin();

/* Data: take a file, and see how it is read before anything is trained on it. */
import { ask, get, upload } from "./api.js";
import { element } from "./dom.js";
import { catalogue, files } from "./store.js";
import { alarm, bars, button, card, command, field, head, link, quiet, select, table, to, waiting } from "./widgets.js";
import { ago, bytes, count, duration, percent, quoted } from "./words.js";

export const title = "Data";
const SHOWN = 200;

export function show(root, params) {
  const list = element("div", { class: "files", role: "list" }), detail = element("div", { class: "detail" });
  const search = element("input", { type: "search", placeholder: "Find a file", aria_label: "Find a file" });
  let found = [], chosen = params.get("file"), stop = new AbortController();

  const open = (name) => {
    chosen = name;
    history.replaceState(null, "", to("data", { file: name }));
    stop.abort();
    stop = new AbortController();
    list.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", one.dataset.name === name));
    detail.replaceChildren(...about(name, found.find((one) => one.name === name), stop.signal));
  };
  const fill = () => {
    const wanted = found.filter((one) => one.name.toLowerCase().includes(search.value.toLowerCase()));
    list.replaceChildren(...wanted.slice(0, SHOWN).map((one) => row(one, one.name === chosen, open)));
    if (!wanted.length) list.append(quiet(found.length ? "No file has that in its name." : "No files yet."));
    if (wanted.length > SHOWN) list.append(quiet(`and ${wanted.length - SHOWN} more: type a part of the name`));
  };
  const load = async (fresh) => {
    try {
      found = (await files(fresh)).files;
      fill();
      search.hidden = found.length < 8;
    } catch (error) { list.replaceChildren(alarm(error.message)); }
  };
  search.addEventListener("input", fill);
  root.append(head("Data", "Drop a text, a table or a corpus. One sequence a line is all it takes."),
    drop(async (name) => { await load(true); open(name); }),
    element("div", { class: "two wide-right" }, element("section", {}, element("h2", {}, "In this folder"), search, list), detail));
  load(true).then(() => { if (chosen) open(chosen); else detail.replaceChildren(hint()); });
  return () => stop.abort();
}

const hint = () => element("div", { class: "empty" }, element("p", {}, "Choose a file to see how it is read."));

const row = (one, chosen, open) => element("div", { role: "listitem" }, element("button", {
  type: "button", class: "file", aria_pressed: chosen, data: { name: one.name }, on: { click: () => open(one.name) }
},
  element("span", { class: "name" }, one.name), element("span", { class: "quiet small" }, `${bytes(one.bytes)} · ${ago(1000 * one.changed)}`)));

/* A place to drop a file, or to choose one. */
function drop(done) {
  const told = element("p", { class: "quiet small", role: "status" }, "or drop it anywhere in this box");
  const input = element("input", { type: "file", id: "upload", class: "visually-hidden" });
  const box = element("div", { class: "drop" }, element("label", { for: "upload", class: "button primary" }, "Choose a file"), input, told);
  const take = async (file) => {
    if (!file) return;
    told.className = "quiet small";
    told.textContent = `Taking ${file.name} (${bytes(file.size)}) …`;
    try {
      const { name } = await upload(file, file.name);
      told.textContent = `${name} is in the folder.`;
      await done(name);
    } catch (error) {
      told.className = "alarm";
      told.textContent = error.message;
    }
    input.value = "";
  };
  input.addEventListener("change", () => take(input.files[0]));
  box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => { event.preventDefault(); box.classList.remove("over"); take(event.dataTransfer.files[0]); });
  return box;
}

/* A file: its first lines, how it is to be read, what `check` says. */
function about(name, file, signal) {
  const text = element("pre", { class: "beginning", tabindex: 0, aria_label: "Its first lines" }), found = element("div", { class: "stack" });
  const codec = select([["", "chosen from the data"]], "");
  const column = element("input", { type: "text", placeholder: "the usual one", size: 12 });
  const stream = element("input", { type: "checkbox" });
  const settings = () => ({
    ...(codec.value && { codec: codec.value }), ...(column.value.trim() && { column: column.value.trim() }),
    ...(stream.checked && { stream: true })
  });
  const check = async () => {
    found.replaceChildren(waiting("Reading it …"));
    again.disabled = true;
    try {
      const facts = await ask("check", { data: name, settings: settings() }, signal);
      found.replaceChildren(...report(name, facts, settings()));
    } catch (error) {
      if (error.name !== "AbortError") found.replaceChildren(alarm(error.message));
    }
    again.disabled = false;
  };
  const again = button("Check again", check);
  get("/api/beginning", { name }).then((told) => { text.textContent = told.text; }, (error) => { text.textContent = error.message; });
  catalogue().then(({ codecs }) => codec.fill([["", "chosen from the data"], ...codecs.map((one) => [one.name, one.name])], codec.value), () => {});
  check();
  return [
    element("div", { class: "title" }, element("h2", {}, name), file ? element("span", { class: "quiet" }, bytes(file.bytes)) : null,
      link("Train on this", to("train", { data: name }), "button primary push")),
    text,
    element("details", { class: "more" }, element("summary", {}, "How it is read"),
      element("div", { class: "fields" }, field("Codec", codec), field("Column of a table", column),
        element("label", { class: "check" }, stream, "one long sequence (stream)"), again)),
    found,
  ];
}

function report(name, facts, settings) {
  const parts = Object.entries(facts.parts), train = facts.parts.train;
  const leaks = parts.filter(([, one]) => one.leaked).map(([part, one]) => alarm(`Leak: ${count(one.leaked)} sequence(s) of ${part} are in train too; figures on them are too good.`));
  const most = Math.max(...train.lengths.map(([, many]) => many), 1);
  const words = ["chainrule", "check", quoted(name), ...Object.entries(settings).map(([flag, value]) => value === true ? `--${flag}` : `--${flag} ${quoted(value)}`)];
  return [
    element("dl", { class: "facts" }, [
      ["codec", facts.codec], ["vocabulary", count(facts.vocab_size)], ["sequences", count(train.sequences)],
      ["symbols to train on", count(train.symbols)]
    ]
      .map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, value)))),
    quiet(`${facts.codec}: ${facts.why}.`),
    ...leaks,
    ...facts.notes.map((one) => element("p", { class: "note" }, one)),
    card(element("h3", {}, "Parts"), table(["part", "sequences", "symbols", "size", "unknown", "duplicates", "also in train"],
      parts.map(([part, one]) => [
        part, count(one.sequences), count(one.symbols), bytes(one.bytes), percent(one.symbols ? one.unknown / one.symbols : 0),
        count(one.duplicates), part === "train" ? "" : count(one.leaked)
      ])),
      quiet(`Parts: ${facts.how}.`)),
    card(element("h3", {}, "Sequences by length in symbols"),
      bars(train.lengths.map(([limit, many]) => [`up to ${count(limit)}`, many / most, count(many)]))),
    element("details", { class: "card more" }, element("summary", {}, "What training each family would need"), table(["family", "memory", "time"],
      Object.entries(facts.forecast).map(([family, cost]) => [family, bytes(Math.round(cost.memory)), duration(cost.seconds)]))),
    command(words.join(" ")),
  ];
}

/* Train: say what is to be learnt from which file, see the command, start it, and watch it. */
import { ask, post } from "./api.js";
import { element } from "./dom.js";
import { jobCard } from "./jobcard.js";
import { settings } from "./settings.js";
import { catalogue, files, models, watch } from "./store.js";
import { alarm, button, card, command, field, head, quiet, segments, select, to, waiting } from "./widgets.js";

export const title = "Train";
const BUDGETS = [["30s", "30 s"], ["1m", "1 min"], ["5m", "5 min"], ["15m", "15 min"], ["1h", "1 h"]];
const OWN = ["budget", "label", "source", "target", "codec", "task", "model"];

export function show(root, params) {
  const cards = element("div", { class: "stack", id: "jobs" }), form = element("div", { class: "stack" });
  root.append(head("Train", "One model, or several compared within one budget. Trainings go on when this page is closed."),
    element("div", { class: "two" }, card(form), element("section", {}, element("h2", {}, "Runs"), cards)));
  form.append(waiting("Asking which models there are …"));
  Promise.all([catalogue(), files(true), models()]).then(([all, found, made]) => build(form, all, found.files, made, params), (error) => form.replaceChildren(alarm(error.message)));
  return follow(cards);
}

/* A card for every job, kept as long as the job is there. */
function follow(root) {
  const kept = new Map();
  const empty = quiet("Nothing has been trained from here yet.");
  return watch((jobs, live) => {
    root.classList.toggle("lost", !live);
    for (const [id, one] of kept) if (!jobs.some((job) => job.id === id)) { one.root.remove(); kept.delete(id); }
    let before = null;
    for (const job of jobs) {
      const one = kept.get(job.id);
      if (!one) kept.set(job.id, { ...jobCard(job), revision: job.revision });
      else if (one.revision !== job.revision) { one.update(job); one.revision = job.revision; }
      const place = kept.get(job.id).root;
      if (place.previousElementSibling !== before || place.parentNode !== root) before ? before.after(place) : root.prepend(place);
      before = place;
    }
    if (jobs.length) empty.remove(); else root.replaceChildren(empty);
  });
}

function build(root, all, found, made, params) {
  const state = { mode: "one", budget: "1m", typed: false, given: () => ({}) };
  const names = found.map((one) => [one.name, one.name]);
  const data = select(names, params.get("data") ?? names[0]?.[0], () => changed());
  const second = select(names, names[1]?.[0], () => changed());
  const tasks = all.tasks.map((one) => [one.name, `${one.name} – ${one.help.split(":")[0]}`]);
  const task = select(tasks, params.get("task") ?? "next", () => { families(); changed(true); });
  const family = select([], "", () => changed(true));
  const codec = select([["", "chosen from the data"], ...all.codecs.map((one) => [one.name, one.name])], "", () => changed());
  const label = element("input", { type: "text", placeholder: "found by its name", on: { input: () => changed() } });
  const name = element("input", { type: "text", on: { input: () => { state.typed = Boolean(name.value); changed(); } } });
  const more = element("div", { class: "settings" }), made_by = element("div"), told = element("div");
  const taskHelp = element("p", { class: "help" }), familyHelp = element("p", { class: "help" });
  const places = { second: field("Its translations, line by line", second), label: field("Column of labels", label, "What is to be predicted."), family: field("Family", family), budget: segments("Budget", BUDGETS, state.budget, (value) => { state.budget = value; changed(); }) };
  places.family.append(familyHelp);
  const start = button("Start training", () => begin(), "primary");

  const described = (list, one) => list.find((other) => other.name === one);
  const comparing = () => state.mode === "several", pairs = () => task.value === "translate";
  const learner = () => described(all.families, family.value)?.learner;
  const families = () => {
    const fit = all.families.filter((one) => one.tasks.includes(task.value));
    const usual = fit.find((one) => one.name === family.value) ?? fit.find((one) => one.name === (task.value === "next" ? "lstm" : fit[0]?.name)) ?? fit[0];
    family.fill(fit.map((one) => [one.name, one.name]), usual?.name);
  };
  const asked = () => ({
    make: "training", compare: comparing(), name: name.value.trim(), task: task.value === "next" ? "" : task.value, codec: codec.value,
    ...(pairs() ? { source_file: data.value, target_file: second.value, task: "" } : { data: data.value }),
    ...(comparing() ? { budget: state.budget } : { model: family.value, budget: learner() === "gradient" ? state.budget : "" }),
    ...(needsLabel() && label.value.trim() ? { label: label.value.trim() } : {}), settings: comparing() ? {} : state.given(),
  });
  const needsLabel = () => described(all.tasks, task.value)?.roles.includes("label");
  const free = (wanted) => { let at = 1, one = wanted; while (made.some((model) => model.name === one)) one = `${wanted}-${at += 1}`; return one; };
  const suggest = () => {
    const stem = (data.value || "my").split("/").pop().replace(/\..*$/, "").replace(/[^\w-]+/g, "-");
    if (!state.typed) name.value = free(comparing() ? `${stem}-comparison` : `${stem}-${family.value}`);
  };
  let waitingFor = null;
  const changed = (settled = false) => {
    taskHelp.textContent = described(all.tasks, task.value)?.help ?? "";
    familyHelp.textContent = described(all.families, family.value)?.help ?? "";
    places.second.hidden = !pairs();
    places.label.hidden = !needsLabel();
    places.family.hidden = details.hidden = comparing();
    places.budget.hidden = !comparing() && learner() !== "gradient";
    suggest();
    if (settled && !comparing()) describe();
    clearTimeout(waitingFor);
    waitingFor = setTimeout(preview, 120);
  };
  const describe = async () => {
    state.given = () => ({});
    const groups = await ask("settings", { family: family.value, task: task.value }).catch(() => []);
    state.given = settings(more, groups, { left: OWN, changed: () => changed() });
  };
  const preview = async () => {
    try {
      made_by.replaceChildren(command((await post("/api/command", asked())).command));
      told.replaceChildren();
      start.disabled = false;
    } catch (error) {
      made_by.replaceChildren(names.length ? alarm(error.message) : quiet("There is no data yet: take a file on the page Data."));
      start.disabled = true;
    }
  };
  const begin = async () => {
    start.disabled = true;
    try {
      await post("/api/jobs", asked());
      made.push({ name: name.value.trim() });
      state.typed = false;
      changed();
    } catch (error) { told.replaceChildren(alarm(error.message)); }
  };
  const details = element("details", { class: "more" }, element("summary", {}, "All settings"), more);
  const taskField = field("Task", task);
  taskField.append(taskHelp);
  root.replaceChildren(
    segments("What to train", [["one", "One model"], ["several", "Compare several"]], state.mode, (value) => { state.mode = value; changed(); }),
    field("Data", data), places.second, taskField, places.label, places.family, places.budget,
    field("Codec", codec, "How the data become symbols."), field("Name", name, "A new folder in this one."), details, made_by, told,
    element("div", { class: "actions" }, start));
  families();
  changed(true);
  history.replaceState(null, "", to("train"));
}

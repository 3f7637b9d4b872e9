/* The form of a training: what is to be learnt from which data; the command it makes stands below it. */
import { ask, post } from "./api.js";
import { element } from "./dom.js";
import { settings } from "./settings.js";
import { alarm, button, command, field, quiet, segments, select } from "./widgets.js";

const BUDGETS = [["30s", "30 s"], ["1m", "1 min"], ["5m", "5 min"], ["15m", "15 min"], ["1h", "1 h"]];
const MODES = [["one", "One model"], ["several", "Compare several"]];
const OWN = ["budget", "label", "source", "target", "codec", "task", "model"]; // settings that have a place of their own here
const USUAL = { next: "lstm" };
const SOON = 120; // milliseconds without a change before the command is asked for

const named = (list, name) => list.find((one) => one.name === name);
const pairs = (list) => list.map((one) => [one.name, one.name]);

export class TrainingForm {
  constructor(catalogue, files, models, params) {
    Object.assign(this, { catalogue, taken: new Set(models.map((one) => one.name)), mode: "one", budget: "1m", typed: false, given: () => ({}) });
    const changed = () => this.changed(), names = pairs(files);
    this.data = select(names, params.get("data") ?? names[0]?.[0], changed);
    this.second = select(names, names[1]?.[0], changed);
    this.task = select(catalogue.tasks.map((one) => [one.name, `${one.name} – ${one.help.split(":")[0]}`]), params.get("task") ?? "next", () => this.retasked());
    this.family = select([], "", () => this.refamilied());
    this.codec = select([["", "chosen from the data"], ...pairs(catalogue.codecs)], "", changed);
    this.label = element("input", { type: "text", placeholder: "found by its name", on: { input: changed } });
    this.name = element("input", { type: "text", on: { input: () => { this.typed = Boolean(this.name.value); changed(); } } });
    this.more = element("div", { class: "settings" });
    this.made = element("div");
    this.told = element("div");
    this.start = button("Start training", () => this.begin(), "primary");
    this.parts = this.laid();
    this.retasked();
  }

  /* Its parts from top to bottom. */
  laid() {
    this.places = {
      second: field("Its translations, line by line", this.second),
      task: field("Task", this.task, " "),
      label: field("Column of labels", this.label, "What is to be predicted."),
      family: field("Family", this.family, " "),
      budget: segments("Budget", BUDGETS, this.budget, (value) => { this.budget = value; this.changed(); }),
      more: element("details", { class: "more" }, element("summary", {}, "All settings"), this.more),
    };
    const { second, task, label, family, budget, more } = this.places;
    const mode = segments("What to train", MODES, this.mode, (value) => { this.mode = value; this.changed(); });
    return [
      mode, field("Data", this.data), second, task, label, family, budget,
      field("Codec", this.codec, "How the data become symbols."), field("Name", this.name, "A new folder in this one."),
      more, this.made, this.told, element("div", { class: "actions" }, this.start)];
  }

  get comparing() { return this.mode === "several"; }
  get paired() { return this.task.value === "translate"; }
  get labelled() { return named(this.catalogue.tasks, this.task.value)?.roles.includes("label"); }
  get timed() { return this.comparing || named(this.catalogue.families, this.family.value)?.learner === "gradient"; }

  /* Another task: the families that are for it. */
  retasked() {
    const fit = this.catalogue.families.filter((one) => one.tasks.includes(this.task.value));
    const kept = named(fit, this.family.value) ?? named(fit, USUAL[this.task.value]) ?? fit[0];
    this.family.fill(pairs(fit), kept?.name);
    this.refamilied();
  }

  /* Another family: its settings. */
  async refamilied() {
    this.given = () => ({});
    this.changed();
    const family = this.family.value;
    const groups = await ask("settings", { family, task: this.task.value }).catch(() => []);
    if (family === this.family.value) this.given = settings(this.more, groups, { left: OWN, changed: () => this.changed() });
  }

  /* Show what belongs to what was chosen, and soon the command. */
  changed() {
    const { second, task, label, family, budget, more } = this.places;
    task.querySelector(".help").textContent = named(this.catalogue.tasks, this.task.value)?.help ?? "";
    family.querySelector(".help").textContent = named(this.catalogue.families, this.family.value)?.help ?? "";
    second.hidden = !this.paired;
    label.hidden = !this.labelled;
    family.hidden = more.hidden = this.comparing;
    budget.hidden = !this.timed;
    if (!this.typed) this.name.value = this.suggested();
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.preview(), SOON);
  }

  /* A name that is free. */
  suggested() {
    const stem = (this.data.value || "my").split("/").pop().replace(/\..*$/, "").replace(/[^\w-]+/g, "-");
    const wanted = `${stem}-${this.comparing ? "comparison" : this.family.value}`;
    let name = wanted;
    for (let at = 2; this.taken.has(name); at += 1) name = `${wanted}-${at}`;
    return name;
  }

  /* What is asked of the studio. */
  get asked() {
    const data = this.paired ? { source_file: this.data.value, target_file: this.second.value } : { data: this.data.value };
    const task = this.paired || this.task.value === "next" ? "" : this.task.value;
    const label = this.labelled ? this.label.value.trim() : "";
    const model = this.comparing ? {} : { model: this.family.value, settings: this.given() };
    return {
      make: "training", compare: this.comparing, name: this.name.value.trim(), codec: this.codec.value,
      budget: this.timed ? this.budget : "", ...data, task, label, ...model,
    };
  }

  /* The command of what stands in the form; an answer that is older than the form is not shown. */
  async preview() {
    const mine = this.asking = {};
    const found = await post("/api/command", this.asked).catch((error) => ({ error }));
    if (mine !== this.asking) return;
    this.start.disabled = Boolean(found.error);
    if (!found.error) this.made.replaceChildren(command(found.command));
    else this.made.replaceChildren(this.data.value ? alarm(found.error.message) : quiet("There is no data yet: take a file on the page Data."));
  }

  async begin() {
    this.start.disabled = true;
    this.told.replaceChildren();
    try {
      await post("/api/jobs", this.asked);
      this.taken.add(this.name.value.trim());
      this.typed = false;
    } catch (error) { this.told.replaceChildren(alarm(error.message)); }
    this.changed();
  }
}

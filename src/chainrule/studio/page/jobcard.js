/* One job: where it stands, its curve, what came of it, and what can be done with it. */
import { ask, post } from "./api.js";
import { curve } from "./curve.js";
import { element } from "./dom.js";
import { active } from "./store.js";
import { alarm, bars, button, command, link, quiet, table, to } from "./widgets.js";
import { ago, count, duration, figure } from "./words.js";

const STATES = { running: "running", stopping: "stopping …", done: "done", stopped: "stopped", failed: "failed", died: "died" };
const WRITES = ["next", null, undefined, ""];

/* A card that follows its job: `update(job)` draws what has changed, and leaves what a person has opened. */
export function jobCard(job) {
  const body = element("div", { class: "stack" }), log = element("pre", { class: "log" }), extra = element("div");
  const made = element("div", { class: "command-place" }, command(job.command));
  const state = element("span", { class: "chip" }), actions = element("div", { class: "actions" });
  const root = element("section", { class: "card job", data: { job: job.id } },
    element("div", { class: "title" }, element("h3", {}, job.name), state, element("span", { class: "quiet small push" }, ago(1000 * job.began))),
    body, extra, actions,
    element("details", { class: "more" }, element("summary", {}, "Command and log"), made, log));
  const update = (now) => {
    root.dataset.state = now.state;
    state.textContent = STATES[now.state];
    body.replaceChildren(...content(now));
    actions.replaceChildren(...buttons(now, extra));
    log.textContent = now.lines.join("\n");
  };
  update(job);
  return { root, update };
}

function content(job) {
  const told = [];
  if (active(job) && job.progress && job.kind !== "compare") told.push(bar(job.progress));
  else if (active(job) && job.kind !== "compare") told.push(quiet("Starting …"));
  if (job.kind === "compare") told.push(job.answer ? leaderboard(job.answer) : race(job));
  else if (job.curve.length > 1) told.push(curve(job.curve));
  if (job.kind === "rate" && active(job)) told.push(rating(job));
  if (job.error) told.push(job.state === "stopped" ? quiet(job.error) : alarm(job.error));
  if (job.state === "died") told.push(alarm("Its process ended without a word: it was killed, or the machine was. Continue goes back to its last checkpoint."));
  if (job.answer && job.kind === "fit") told.push(fitted(job.answer));
  if (job.answer && job.kind === "export") told.push(quiet(`Written to ${job.answer.output}.`));
  return told.filter(Boolean);
}

/* How far it is. */
function bar(progress) {
  const known = progress.share !== null;
  const words = [
    progress.progress, known ? `${Math.round(100 * progress.share)} %` : null, progress.words || null,
    progress.left !== null ? `${duration(progress.left)} left` : duration(progress.elapsed)
  ];
  return element("div", { class: "progress" },
    element("div", {
      class: known ? "meter" : "meter unknown", role: "progressbar",
      aria_valuenow: known ? Math.round(100 * progress.share) : undefined, aria_valuemin: 0, aria_valuemax: 100,
      aria_label: progress.progress
    },
      element("span", { style: { width: `${known ? 100 * progress.share : 100}%` } })),
    quiet(words.filter(Boolean).join(" · ")));
}

function fitted(answer) {
  const part = answer.test ?? answer.valid ?? {};
  const [first, ...others] = Object.entries(part), told = [first, others.find(([name]) => name === "bits_per_byte") ?? others[0]].filter(Boolean);
  const facts = [...told, ["parameters", answer.parameters], ["time", answer.seconds]];
  return element("dl", { class: "facts" },
    facts.map(([name, value]) => element("div", {},
      element("dt", {}, name.replace(/_/g, " ")),
      element("dd", {}, name === "time" ? duration(value) : figure(value)))));
}

/* A comparison while it runs: every model, how far it is, how good so far. */
function race(job) {
  if (!job.race) return active(job) ? quiet("Reading the data …") : null;
  const figures = job.race.models.map((one) => one.bits).filter(Number.isFinite), worst = Math.max(...figures, 1e-9);
  return element("div", {}, quiet(`${duration(job.race.passed)} of ${duration(job.race.budget)} · ${job.race.unit}, less is better`),
    bars(job.race.models.map((one) => [one.name, Number.isFinite(one.bits) ? one.bits / worst : 0, stage(one)])));
}

function stage(one) {
  if (one.failed) return "failed";
  const bits = Number.isFinite(one.bits) ? figure(one.bits) : "";
  if (one.decided) return `${bits} ${one.decision ?? ""}`.trim();
  if (one.done) return bits;
  return one.share !== undefined ? `${bits} ${Math.round(100 * one.share)} %`.trim() : one.began ? "started" : "waiting";
}

function leaderboard(answer) {
  const rows = answer.models.filter((one) => !one.failed), named = answer.figures?.length ? answer.figures.slice(0, 3) : [answer.unit];
  const cells = (one) => answer.figures?.length ? named.map((name) => figure(one.figures?.[name])) : [figure(one.bits)];
  return element("div", { class: "stack" }, element("p", {}, (answer.advice?.sentences ?? []).join(" ")),
    table(["model", ...named.map((one) => one.replace(/_/g, " ")), "weights", "time"],
      rows.map((one) => [one.title + (one.dropped ? " (dropped)" : ""), ...cells(one), count(one.parameters), duration(one.seconds)])),
    [...reasons(answer.models)].map(([why, names]) => quiet(`${names.join(", ")}: ${why}`)));
}

/* Models without figures, those with the same reason together. */
function reasons(models) {
  const found = new Map();
  for (const one of models.filter((other) => other.failed)) found.set(one.failed, [...(found.get(one.failed) ?? []), one.title ?? one.name]);
  return found;
}

/* A rating has a page of its own: its address stands in the log. */
function rating(job) {
  const address = job.lines.map((line) => line.match(/http:\/\/127\.0\.0\.1:\d+\//)?.[0]).find(Boolean);
  return address ? element("p", {},
    element("a", { href: address, target: "_blank", rel: "noreferrer", class: "button primary" }, "Open the rating"),
    " Stop it when everybody has rated.") : null;
}

function buttons(job, extra) {
  const act = (what) => async () => {
    try { await post(`/api/jobs/${job.id}/${what}`); } catch (error) { extra.replaceChildren(alarm(error.message)); }
  };
  if (job.state === "running") return [button("Stop", act("stop"))];
  if (job.state === "stopping") return [button("End it now", act("stop"), "danger")];
  const done = job.state === "done", found = [];
  if (!done || job.kind === "rate") found.push(button(job.kind === "rate" ? "Rate again" : "Continue", act("continue"), done ? "" : "primary"));
  if (done && job.kind === "fit") {
    found.push(link("Use it", to("use", { model: job.name }), "button"), link("Look inside", to("look", { model: job.name }), "button"));
    if (WRITES.includes(job.answer?.task)) found.push(button("Samples", () => samples(job, extra)));
  }
  if (done && job.kind === "compare") found.push(element("a",
    { href: `/report/${encodeURIComponent(job.name)}`, target: "_blank", rel: "noreferrer", class: "button" },
    "Full report"));
  return [...found, button("Forget", act("remove"), "plain push")];
}

async function samples(job, extra) {
  extra.replaceChildren(quiet("Writing …"));
  try {
    const texts = await ask("samples", { model: job.name });
    extra.replaceChildren(...texts.map((one) => element("blockquote", { class: "sample" }, one)));
  } catch (error) { extra.replaceChildren(alarm(error.message)); }
}

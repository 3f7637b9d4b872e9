/* Train: the form on one side, every run with its curve on the other. */
import { element } from "./dom.js";
import { TrainingForm } from "./form.js";
import { jobCard } from "./jobcard.js";
import { catalogue, files, models, watch } from "./store.js";
import { alarm, card, head, quiet, to, waiting } from "./widgets.js";

export const title = "Train";

export function show(root, params) {
  const cards = element("div", { class: "stack", id: "jobs" }), place = element("div", { class: "stack" });
  root.append(
    head("Train", "One model, or several compared within one budget. Trainings continue when this page is closed."),
    element("div", { class: "two" }, card(place), element("section", {}, element("h2", {}, "Runs"), cards)));
  place.append(waiting("Asking which models there are …"));
  const ready = Promise.all([catalogue(), files(true), models()]);
  ready.then(([all, found, made]) => {
    place.replaceChildren(...new TrainingForm(all, found.files, made, params).parts);
    history.replaceState(null, "", to("train"));
  }).catch((error) => place.replaceChildren(alarm(error.message)));
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

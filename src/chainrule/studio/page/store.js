/* What all pages share: files, models and the catalogue, asked for once; jobs, as the one event stream tells them. */
import { ask, get } from "./api.js";

const kept = {};

const remembered = (name, make) => (fresh = false) => {
  if (fresh || !kept[name]) {
    kept[name] = make();
    kept[name].catch(() => { delete kept[name]; });
  }
  return kept[name];
};

export const files = remembered("files", () => get("/api/files"));
export const models = remembered("models", async () => (await get("/api/models")).models);
export const catalogue = remembered("catalogue", () => ask("catalogue"));

const jobs = new Map(), watchers = new Set();
let order = [], live = true;

/* Calls `changed(jobs, live)` now and whenever a job changes; gives a function that ends it. */
export function watch(changed) {
  watchers.add(changed);
  changed(listed(), live);
  return () => watchers.delete(changed);
}

const listed = () => order.map((id) => jobs.get(id)).filter(Boolean);
const tell = () => watchers.forEach((changed) => changed(listed(), live));

/* Begins to listen; `ended(job)` is told of every job that comes to an end while the page is open. */
export function listen(ended) {
  const source = new EventSource("/api/events");
  source.onmessage = (event) => {
    const told = JSON.parse(event.data);
    live = true;
    for (const job of told.jobs) {
      const before = jobs.get(job.id);
      jobs.set(job.id, job);
      if (before && active(before) && !active(job)) ended(job);
    }
    order = told.ids;
    for (const id of [...jobs.keys()]) if (!order.includes(id)) jobs.delete(id);
    tell();
  };
  source.onerror = () => { live = false; tell(); };
}

export const active = (job) => job.state === "running" || job.state === "stopping";

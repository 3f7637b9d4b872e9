/* The frame: which page is shown, the keys, and what is told at the foot of the window. */
import * as data from "./data.js";
import { element } from "./dom.js";
import * as look from "./look.js";
import * as models from "./models.js";
import { active, files, listen, models as listed, watch } from "./store.js";
import * as train from "./train.js";
import * as use from "./use.js";
import { alarm, to } from "./widgets.js";

const PAGES = { data, train, models, use, look };
const NAMES = Object.keys(PAGES);
const main = document.getElementById("main");
let leave = null;

/* The page that the address names. */
function route() {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  const page = PAGES[name] ? name : "data";
  leave?.();
  main.replaceChildren();
  main.dataset.page = page;
  document.title = `${PAGES[page].title} · chainrule studio`;
  for (const one of document.querySelectorAll("#nav a")) {
    if (one.dataset.page === page) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  try {
    leave = PAGES[page].show(main, new URLSearchParams(query)) ?? null;
  } catch (error) {
    main.append(alarm(error.message));
  }
  scrollTo(0, 0);
}

/* A line at the foot of the window, for a while; `more` may be a link. */
export function tell(text, more = null) {
  const line = element("p", {}, text, more ? " " : "", more);
  document.getElementById("told").replaceChildren(line);
  setTimeout(() => line.remove(), 9000);
}

document.addEventListener("tell", (event) => tell(event.detail.text, event.detail.more));

document.getElementById("nav").append(...NAMES.map((name, at) => element("a", { href: `#/${name}`, data: { page: name } },
  PAGES[name].title, name === "train" ? element("span", { id: "running", class: "badge" }) : null, element("kbd", { aria_hidden: true }, String(at + 1)))));

/* 1 to 5 open pages, / goes to the search of a page, Ctrl-Enter presses its main button. */
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
    document.querySelector("main button.primary:not(:disabled)")?.click();
  } else if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    if (NAMES[event.key - 1]) location.hash = `#/${NAMES[event.key - 1]}`;
    const search = event.key === "/" && document.querySelector("main input[type=search]");
    if (search) { search.focus(); event.preventDefault(); }
  }
});

watch((jobs, live) => {
  const running = jobs.filter(active).length;
  document.getElementById("running").textContent = running || "";
  document.body.classList.toggle("lost", !live);
});
listen((job) => {
  listed(true);
  files(true);
  if (job.state === "done" && job.kind === "fit") tell(`${job.name} is trained.`, element("a", { href: to("use", { model: job.name }) }, "Use it"));
  else if (job.state === "failed" || job.state === "died") tell(`${job.name} ended: ${job.error ?? "its process is gone"}`);
});
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
files().then(({ folder }) => { document.getElementById("folder").textContent = folder; }).catch(() => {});
addEventListener("hashchange", route);
route();
performance.mark("ready");
document.body.dataset.ready = "yes";

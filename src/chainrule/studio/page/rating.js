/* People as judges: two files of texts side by side, blind; the rating itself is a page of its own. */
import { post } from "./api.js";
import { element } from "./dom.js";
import { files } from "./store.js";
import { alarm, button, field, select } from "./widgets.js";

export function rating() {
  const a = select([], ""), b = select([], ""), source = select([], ""), told = element("div");
  const name = element("input", { type: "text", value: "ratings.jsonl" });
  const begin = async () => {
    try {
      await post("/api/jobs", { make: "rating", a: a.value, b: b.value, source: source.value, name: name.value.trim() });
      location.hash = "#/train";
    } catch (error) { told.replaceChildren(alarm(error.message)); }
  };
  const details = element("details", { class: "card more" }, element("summary", {}, "Rate: let people judge two systems, blind"),
    element("div", { class: "fields" },
      field("Texts of one", a),
      field("Texts of the other", b),
      field("Sources, if any", source),
      field("Ratings go to", name)),
    told, element("div", { class: "actions" }, button("Begin a rating", begin)));
  details.addEventListener("toggle", async () => {
    const names = (await files()).files.map((one) => [one.name, one.name]);
    a.fill(names, names[0]?.[0]);
    b.fill(names, names[1]?.[0]);
    source.fill([["", "none"], ...names], "");
  }, { once: true });
  return details;
}

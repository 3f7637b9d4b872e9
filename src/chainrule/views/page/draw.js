/* Draws a view, as Python's `View.to_dict` gives it, into an element. */
export function draw(view, root) {
  const drawer = DRAWERS[view.kind];
  if (!drawer) throw new Error(`There is no drawing of ${view.kind}.`);
  const { data, meta } = unpacked({ data: view.data, meta: view.meta });
  root.replaceChildren(element("h1", {}, meta.title ?? view.kind));
  drawer(data, root, meta);
  for (const note of meta.notes ?? []) root.append(element("p", { class: "note" }, note));
  if (meta.command) root.append(element("p", { class: "note" }, "made by: ", element("code", {}, meta.command)));
  root.dataset.drawn = view.kind;
}

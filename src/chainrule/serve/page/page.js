"use strict";
const made = (name, text, ...inside) => {
  const one = document.createElement(name);
  if (text) one.textContent = text;
  one.append(...inside);
  return one;
};
const EXAMPLES = {
  "/v1/completions": { prompt: "she went", max_tokens: 16, temperature: 0 },
  "/v1/chat/completions": { messages: [{ role: "user", content: "hello" }] },
  "/v1/embeddings": { input: "she went" },
  "/v1/rank": { candidates: ["she went", "went she"] },
  "/v1/fill": { text: "she [MASK] home" },
  "/detokenize": { tokens: [5, 6] },
};
const headers = () => {
  const key = document.getElementById("key").value;
  return { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
};
function kind(schema) {
  if (!schema) return "";
  if (schema.anyOf) return schema.anyOf.map(kind).filter((one) => one !== "null").join(" or ");
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.join(" or ");
  return schema.type === "array" ? `list of ${kind(schema.items)}` : schema.type || "";
}
function fields(schema) {
  const rows = Object.entries(schema.properties || {}).map(([name, one]) => made("tr", "",
    made("td", "", made("code", name)), made("td", kind(one)),
    made("td", (schema.required || []).includes(name) ? "needed" : ""), made("td", one.description || "")));
  return made("table", "", made("tr", "", ...["field", "type", "", ""].map((one) => made("th", one))), ...rows);
}
async function ask(path, method, text, shown) {
  shown.textContent = "…";
  try {
    const answer = await fetch(path, { method, headers: headers(), body: method === "POST" ? text : undefined });
    const body = await answer.text();
    let told = body;
    try { told = JSON.stringify(JSON.parse(body), null, 2); } catch { /* not JSON: as it is */ }
    shown.textContent = `${answer.status}\n${told}`;
  } catch (error) { shown.textContent = String(error); }
}
function operation(path, method, one, schemas) {
  const shown = made("pre", ""), button = made("button", "Ask"), section = made("section");
  const ref = one.requestBody?.content["application/json"].schema.$ref;
  const input = made("textarea");
  if (ref) {
    const schema = schemas[ref.split("/").pop()], first = Object.keys(schema.properties).includes("text") ? "text" : "prompt";
    input.value = JSON.stringify(EXAMPLES[path] || { [first]: "she went" }, null, 2);
    section.append(fields(schema), input);
  }
  button.onclick = () => ask(path, method.toUpperCase(), input.value, shown);
  section.append(button, shown);
  return made("details", "", made("summary", "", made("b", method.toUpperCase()), made("code", path), made("span", one.summary)), section);
}
fetch("/openapi.json", { headers: headers() }).then((answer) => answer.json()).then((found) => {
  const schemas = found.components?.schemas || {};
  for (const [path, methods] of Object.entries(found.paths)) {
    for (const [method, one] of Object.entries(methods)) {
      document.getElementById("paths").append(operation(path, method, one, schemas));
    }
  }
});

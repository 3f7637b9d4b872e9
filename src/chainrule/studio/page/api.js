/* Questions to the studio. Whatever goes wrong is an Error whose message says what to do. */

const LOST = "The studio does not answer. Start it again: chainrule studio";

async function answered(path, settings) {
  let answer;
  try {
    answer = await fetch(path, settings);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(LOST);
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Error(typeof told.error === "string" ? told.error : `The studio could not do that (${answer.status}).`);
}

const asJson = (values, signal) => ({ method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(values), signal });

export async function get(path, query = {}) {
  const asked = new URLSearchParams(query).toString();
  return (await answered(asked ? `${path}?${asked}` : path)).json();
}

export const post = async (path, values = {}, signal) => (await answered(path, asJson(values, signal))).json();

export const ask = (what, values, signal) => post("/api/ask", { do: what, ...values }, signal);

/* A text that comes in pieces; gives the whole answer at the end. */
export async function stream(values, heard, signal) {
  const answer = await answered("/api/stream", asJson(values, signal));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", result = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const told of lines.filter(Boolean).map((line) => JSON.parse(line))) {
      if (told.error) throw new Error(told.error);
      if ("piece" in told) heard(told.piece);
      if ("result" in told) result = told.result;
    }
  }
  if (result === null) throw new Error(LOST);
  return result;
}

export const upload = async (file, name) => (await answered(`/api/files/${encodeURIComponent(name)}`, { method: "PUT", body: file })).json();

/* Something to keep: asks for a file and hands it to the browser. */
export async function download(path, values, name) {
  const address = URL.createObjectURL(await (await answered(path, asJson(values))).blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/* What can be done with a model, one entry a verb: what it asks for, how its answer is shown, the command that does the same. */
import { element } from "./dom.js";
import { bars, card, quiet, table } from "./widgets.js";
import { figure, percent, quoted } from "./words.js";

const CEILING = 12; // bits at which a symbol is as red as can be
const flags = (values) => Object.entries(values).map(([name, value]) => ` --${name.replace(/_/g, "-")} ${value}`).join("");
const plain = (verb) => ({ model, text, settings }) => `chainrule ${verb} ${quoted(model)} ${quoted(text)}${flags(settings)}`;
const lined = (verb) => ({ model, text }) => `chainrule ${verb} ${quoted(model)} ${text.split("\n").filter((one) => one.trim()).map(quoted).join(" ")}`;
const passage = (prompt, rest) => element("p", { class: "text", dir: "auto" }, element("span", { class: "given" }, prompt), rest);

/* A text coloured by surprise; pointing at a symbol tells its bits. */
function coloured(tokens) {
  const told = element("p", { class: "readout", role: "status" }, "Point at a symbol.");
  const step = (event) => { // arrow keys go from symbol to symbol
    const next = { ArrowRight: "nextElementSibling", ArrowLeft: "previousElementSibling" }[event.key];
    if (next) event.target[next]?.focus();
  };
  const cells = tokens.map((one, at) => {
    const bits = one.bits ?? 99, says = () => { told.textContent = `${one.token}: ${figure(one.bits)} bits`; };
    return element("span",
      {
        class: "symbol", tabindex: at ? -1 : 0, title: `${figure(one.bits)} bits`,
        style: { background: `rgb(var(--heat) / ${Math.min(0.85, 0.85 * bits / CEILING).toFixed(3)})` },
        on: { pointerenter: says, focus: says, keydown: step }
      },
      one.token);
  });
  return element("div", {}, element("p", { class: "text symbols" }, cells.flatMap((one) => [one, " "])), told);
}

const facts = (pairs) => element("dl", { class: "facts" },
  pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
const chances = (rows, name, value) => bars(rows.map((one) => [name(one), value(one) / Math.max(...rows.map(value), 1e-12), percent(value(one))]));

function predicted(answer) {
  if (answer.tags) return [card(element("p", { class: "text tagged" },
    answer.tags.map((tag, at) => element("span", { class: tag === "O" ? "word" : "word tag" },
      answer.words?.[at] ?? answer.tokens?.[at] ?? "",
      element("small", {}, tag)))))];
  if (answer.probabilities) {
    const rows = Object.entries(answer.probabilities).map(([label, share]) => ({ label, share }));
    return [card(element("p", { class: "big" }, element("strong", {}, answer.label ?? (answer.labels ?? []).join(", "))),
      chances(rows, (one) => one.label, (one) => one.share))];
  }
  const told = Object.entries(answer).filter(([, value]) => ["string", "number"].includes(typeof value));
  return [card(facts(told.map(([name, value]) => [name.replace(/_/g, " "), figure(value)])))];
}

const near = (rows) => bars(rows.map((one) => [one.word, Math.max(0, one.similarity), figure(one.similarity)]));

const score = (answer, name) => figure(answer[name] ?? answer[`pseudo_${name}`]);
const offers = (title, rows) => rows.length
  ? card(element("h3", {}, title), chances(rows, (one) => one.symbol ?? one.text, (one) => one.probability)) : null;
const beamed = (one) => one.log2prob === undefined ? null : quiet(`${figure(-one.log2prob)} bits`);
const asking = ({ model, text, second }) => `chainrule predict ${quoted(model)} --question ${quoted(second)} --passage ${quoted(text)}`;
const many = (most) => ["k", "How many", "5", { min: 1, max: most }];

export const VERBS = {
  generate: {
    label: "Generate", asks: "Begin with", help: "The model continues from here; nothing: from the start of a text.",
    settings: [
      ["length", "Length", "200", { min: 1, max: 100000 }], ["temperature", "Temperature", "1", { min: 0, step: 0.1 }],
      ["top_k", "Top-k", "all", { min: 1 }], ["top_p", "Top-p", "1", { min: 0.01, max: 1, step: 0.05 }],
      ["seed", "Seed", "by chance", { min: 0 }], ["beam", "Beam", "none", { min: 1, max: 100 }],
      ["count", "Texts", "1", { min: 1, max: 50 }],
    ],
    command: plain("generate"),
    shown: (answer, { text }) => {
      const rest = (one) => one.text.startsWith(text) ? passage(text, one.text.slice(text.length)) : passage("", one.text);
      const seed = answer.seed === undefined || answer.seed === null ? [] : [quiet(`seed ${answer.seed}`)];
      return [...(answer.texts ?? [answer]).map((one) => card(rest(one), beamed(one))), ...seed];
    },
  },
  complete: {
    label: "Complete", asks: "Begin with", help: "It may end in the middle of a word.", example: "what is the wea",
    settings: [many(50), ["length", "Length", "10", { min: 1, max: 200 }]],
    command: plain("complete"),
    shown: (answer, { text }) => [
      offers("This word", answer.words),
      offers("Next symbol", answer.next),
      card(element("h3", {}, "Whole continuations"),
        table(["text", "probability"], answer.continuations.map((one) => [text + one.text, percent(one.probability)]))),
    ].filter(Boolean),
  },
  next: {
    label: "Next", asks: "After this", help: "The distribution over the next symbol.",
    settings: [["k", "How many", "20", { min: 1, max: 200 }]],
    command: plain("next"),
    shown: (answer) => [card(chances(answer.symbols, (one) => one.token, (one) => one.probability))],
  },
  score: {
    label: "Score", asks: "Text", help: "How probable it is, and where it surprises.", example: "she was late for class",
    command: plain("score"),
    shown: (answer) => [card(
      facts([["perplexity", score(answer, "perplexity")], ["bits per byte", score(answer, "bits_per_byte")],
        ["symbols", figure(answer.symbols)], ["unknown", figure(answer.unknown)]]),
      answer.tokens ? coloured(answer.tokens) : null)],
  },
  rank: {
    label: "Rank", asks: "Candidates, one a line", help: "The most probable comes first.",
    example: "what is the weather today\nwhat is the whether two day",
    command: lined("rank"),
    shown: (answer) => [card(table(["text", "log2 probability"], answer.ranked.map((one) => [one.text, figure(one.log2prob)])))],
  },
  fill: {
    label: "Fill", asks: "Text with [MASK]", help: "Write [MASK] where something is to be filled in.", example: "the [MASK] is fine today",
    settings: [many(50)],
    command: plain("fill"),
    shown: (answer) => answer.masks.map((guesses, at) => offers(`Mask ${at + 1}`, guesses)),
  },
  predict: {
    label: "Predict", asks: "Text", second: "Second text, if the model reads pairs",
    command: (question) => plain("predict")(question) + (question.second ? ` --pair ${quoted(question.second)}` : ""),
    shown: predicted,
  },
  answer: { label: "Answer", asks: "Passage", second: "Question", rows: 7, command: asking, shown: predicted },
  translate: {
    label: "Translate", asks: "Text, one a line",
    settings: [["beam", "Beam", "5", { min: 1, max: 50 }]],
    command: lined("translate"),
    shown: (answer) => answer.map((one) => card(element("p", { class: "text", dir: "auto" }, one.text), beamed(one))),
  },
  similar: { label: "Similar", asks: "Word", rows: 1, command: plain("similar"), shown: (answer) => [card(near(answer.neighbours))] },
  analogy: {
    label: "Analogy", asks: "Three words", help: "man king woman: man is to king as woman is to …", rows: 1,
    command: ({ model, text }) => `chainrule analogy ${quoted(model)} ${text}`,
    shown: (answer) => [card(near(answer.answers))],
  },
};

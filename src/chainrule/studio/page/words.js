/* Numbers, sizes and times as people read them, and words as shells do. */

const grouped = new Intl.NumberFormat("en");

export const count = (value) => value === null || value === undefined ? "" : grouped.format(value);

export function figure(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const text = size >= 1000 || Number.isInteger(value) ? grouped.format(Math.round(value)) : size >= 10 ? value.toFixed(2) : value.toPrecision(4);
  return text.replace("-", "−");
}

export const percent = (share) => share >= 0.001 || share === 0 ? `${(100 * share).toFixed(2)} %` : `${(100 * share).toExponential(1)} %`;

export function bytes(value) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`;
  }
  return `${value} bytes`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds), hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours} h ${minutes} min` : `${minutes}:${String(whole % 60).padStart(2, "0")} min`;
}

/* A word of a command, as a shell wants it. */
export const quoted = (text) => /^[\w./,-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;

const AGO = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function ago(moment) {
  const passed = (Date.now() - new Date(moment).getTime()) / 1000;
  for (const [unit, size] of AGO) if (passed >= size) return relative.format(-Math.round(passed / size), unit);
  return "just now";
}

/* Data of a view: arrays from base64, with their shape. */
const KINDS = {
  float32: (bytes) => new Float32Array(bytes),
  int32: (bytes) => new Int32Array(bytes),
  float16: (bytes) => globalThis.Float16Array ? new Float16Array(bytes) : Float32Array.from(new Uint16Array(bytes), half),
};

/* The bytes of a base64 text; browsers of today do it by themselves, and fast. */
function bytes_of(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text).buffer;
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return bytes.buffer;
}

/* A number of half precision. */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, rest = bits & 1023;
  if (exponent === 0) return sign * rest * 2 ** -24;
  if (exponent === 31) return rest ? NaN : sign * Infinity;
  return sign * (1 + rest / 1024) * 2 ** (exponent - 15);
}

/* An array with its shape; `at(i, j, …)` is one number, or the part below these places. */
class Numbers {
  constructor(values, shape) { this.values = values; this.shape = shape; }
  get length() { return this.shape[0]; }
  at(...places) {
    let from = 0, size = this.values.length;
    places.forEach((place, axis) => { size /= this.shape[axis]; from += place * size; });
    if (places.length === this.shape.length) return this.values[from];
    return new Numbers(this.values.subarray(from, from + size), this.shape.slice(places.length));
  }
  rows() { return Array.from({ length: this.length }, (_, row) => this.at(row)); }
  list() { return Array.from(this.values); }
}

function unpacked(value) {
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object") return value;
  if ("base64" in value && "shape" in value && value.dtype in KINDS) {
    return new Numbers(KINDS[value.dtype](bytes_of(value.base64)), value.shape);
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, unpacked(one)]));
}

/* Heat maps on a canvas: one pixel for each number, enlarged by the style, so that large ones are drawn at once. A pixel is as
   dark as the square root of its number: small ones are to be seen, too. */
function cool() {
  const parts = getComputedStyle(document.documentElement).getPropertyValue("--cool").trim().split(/\s+/).map(Number);
  return parts.length === 3 && parts.every(Number.isFinite) ? parts : [43, 108, 176];
}

function heat(numbers, canvas = element("canvas")) {
  const [rows, columns] = numbers.shape, [red, green, blue] = cool();
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows), pixels = image.data;
  const values = numbers.values;
  for (let at = 0, place = 0; at < values.length; at += 1, place += 4) {
    pixels[place] = red; pixels[place + 1] = green; pixels[place + 2] = blue;
    pixels[place + 3] = 255 * Math.sqrt(Math.min(1, Math.max(0, values[at])));
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

const SMALL = 96;

/* The same small: each pixel is the greatest of the numbers it stands for, so that thin lines stay visible. */
function thumbnail(numbers) {
  const [rows, columns] = numbers.shape;
  if (Math.max(rows, columns) <= SMALL) return heat(numbers);
  const high = Math.min(rows, SMALL), wide = Math.min(columns, SMALL), most = new Float32Array(high * wide);
  const places = Int32Array.from({ length: columns }, (_, column) => Math.floor(column * wide / columns));
  for (let row = 0, at = 0; row < rows; row += 1) {
    const from = Math.floor(row * high / rows) * wide;
    for (let column = 0; column < columns; column += 1, at += 1) {
      const place = from + places[column], value = numbers.values[at];
      if (value > most[place]) most[place] = value;
    }
  }
  return heat(new Numbers(most, [high, wide]));
}

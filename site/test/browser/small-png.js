// Writes a picture with the 256 colours that it has most of: a third of the bytes that a browser writes.

import { deflateSync } from "node:zlib";

/** In a page, which can read a PNG: its width and height, its palette with how opaque each colour is, and one byte for each pixel, in base64. */
async function reduced(png) {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const { width, height } = image;
  const canvas = new OffscreenCanvas(width, height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const pixels = new Uint32Array(canvas.getImageData(0, 0, width, height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const palette = [...counts].sort((one, other) => other[1] - one[1]).slice(0, 256).map(([pixel]) => pixel);
  const parts = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255, pixel >>> 24];
  const distance = (one, other) => one.reduce((sum, part, n) => sum + (part - other[n]) ** 2, 0);
  const colours = palette.map(parts);
  const nearest = new Map(palette.map((pixel, index) => [pixel, index]));
  for (const pixel of counts.keys()) {
    if (nearest.has(pixel)) continue;
    const distances = colours.map((colour) => distance(colour, parts(pixel)));
    nearest.set(pixel, distances.indexOf(Math.min(...distances)));
  }
  // Each row begins with a byte that says how it is filtered: not at all.
  const rows = new Uint8Array((width + 1) * height);
  pixels.forEach((pixel, at) => { rows[at + Math.floor(at / width) + 1] = nearest.get(pixel); });
  let text = "";
  for (let at = 0; at < rows.length; at += 4096) text += String.fromCharCode(...rows.subarray(at, at + 4096));
  return { width, height, colours, rows: btoa(text) };
}

const CRC = Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc >>> 0;
});

function chunk(name, data) {
  const named = Buffer.concat([Buffer.from(name), data]);
  const crc = ~named.reduce((crc, byte) => CRC[(crc ^ byte) & 255] ^ (crc >>> 8), ~0);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc >>> 0);
  return Buffer.concat([length, named, sum]);
}

/** `page` is any page of a browser. */
export async function smallPng(page, png) {
  const { width, height, colours, rows } = await page.evaluate(reduced, png.toString("base64"));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  // Eight bits for each pixel, which are an index into the palette.
  head.set([8, 3], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", head),
    chunk("PLTE", Buffer.from(colours.flatMap(([red, green, blue]) => [red, green, blue]))),
    chunk("tRNS", Buffer.from(colours.map(([, , , alpha]) => alpha))),
    chunk("IDAT", deflateSync(Buffer.from(rows, "base64"), { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

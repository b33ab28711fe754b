/**
 * How many names are asked for at once: all that a subscriber listens to may be more than one request
 * may be, and a datanode closes the connection over such a request. Pure.
 */

/** A line of so many takes some 10 ms to be written. */
const NAMES_MAX = 16_384;
/** Of UTF-16; in bytes at most three times as much. */
const UNITS_MAX = 4 * 1024 * 1024;

/** `all` in their order, in lists of one line each. */
export function namesOfLines(all: readonly string[]): readonly (readonly string[])[] {
  const lines: string[][] = [];
  let units = 0;
  for (const name of all) {
    const last = lines.at(-1);
    if (last === undefined || last.length === NAMES_MAX || units + name.length > UNITS_MAX) {
      lines.push([name]);
      units = name.length;
      continue;
    }
    last.push(name);
    units += name.length;
  }
  return lines;
}

/** How long commands that block are held by the server, as they say themselves. Pure. */
import type { Argument } from './connection.ts';
import { optionValue, rowsByName } from './key-places.ts';

/** They name their time limit first, XREAD and XREADGROUP by an option, all others last. */
const firstNames: ReadonlySet<string> = new Set(['blmpop', 'bzmpop']);

/** In milliseconds; infinite: until there is something, or it is not a time that the server takes. */
export function heldMs(name: string, line: readonly Argument[]): number {
  const row = rowsByName.get(name);
  if (row?.waitWord !== undefined) {
    const milliseconds = Number(String(optionValue(row, line, row.waitWord)));
    return milliseconds > 0 ? milliseconds : Number.POSITIVE_INFINITY;
  }
  const seconds = Number(String(firstNames.has(name) ? line[1] : line.at(-1)));
  return seconds > 0 ? seconds * 1_000 : Number.POSITIVE_INFINITY;
}

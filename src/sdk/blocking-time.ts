/** How long commands that block are held by the server, as they say themselves. Pure. */
import type { Argument } from './connection.ts';

/** They name their time limit first, all others last. */
const firstNames: ReadonlySet<string> = new Set(['blmpop', 'bzmpop']);

/** In milliseconds; infinite: until there is something, or it is not a time that the server takes. */
export function heldMs(name: string, line: readonly Argument[]): number {
  const seconds = Number(String(firstNames.has(name) ? line[1] : line.at(-1)));
  return seconds > 0 ? seconds * 1_000 : Number.POSITIVE_INFINITY;
}

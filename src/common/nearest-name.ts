/** Which known name somebody has meant who gave another. Pure. */

/** The one of `known` that differs from `given` in the fewest letters, if it is like it at all. */
export function nearestName(given: string, known: Iterable<string>): string | undefined {
  const lower = given.slice(0, LETTERS_MAX).toLowerCase();
  let nearest: string | undefined;
  let fewest = Math.max(2, Math.floor(lower.length / 3)) + 1;
  for (const name of known) {
    const letters = differences(lower, name.toLowerCase());
    if (letters >= fewest) continue;
    fewest = letters;
    nearest = name;
  }
  return nearest;
}

/** ` (did you mean …?)`, or nothing. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const name = nearestName(given, known);
  return name === undefined ? '' : ` (did you mean ${name}?)`;
}

/** What is longer than this resembles no name. */
const LETTERS_MAX = 64;

/** Letters that must be put in, left out or changed: the distance of Levenshtein. */
function differences(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const changed = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(changed, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}

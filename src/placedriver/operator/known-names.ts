/** What an operator who named something that is not there could have named. Pure. */

/** Of more, a number. */
const SHOWN_MAX = 8;

/** As the end of an error: `there are n1, n2 and n3`. */
export function thereAre(names: readonly string[]): string {
  if (names.length === 0) return 'there is none';
  const [only] = names;
  if (names.length === 1) return `there is ${only}`;
  return `there are ${listed(names)}`;
}

/** `n1, n2 and n3`, or `n1, n2, … and 5 more`. */
export function listed(names: readonly string[]): string {
  const sorted = [...names].sort();
  const isWhole = sorted.length <= SHOWN_MAX;
  const shown = sorted.slice(0, isWhole ? -1 : SHOWN_MAX);
  const last = isWhole ? sorted.slice(-1) : [`${sorted.length - SHOWN_MAX} more`];
  return [...(shown.length > 0 ? [shown.join(', ')] : []), ...last].join(' and ');
}

/**
 * A list for `length` items, to be filled from its first on; a short one holds `filler` meanwhile. A list
 * that grows by itself takes room for seventeen, and most requests have two or three arguments.
 */
export function listFor<Item>(length: number, filler: Item): Item[] {
  if (length === 2) return [filler, filler];
  return length === 3 ? [filler, filler, filler] : [];
}

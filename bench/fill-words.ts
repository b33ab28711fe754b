/** What the program fill-load is told and tells. */

/** Keys `first` to `first + count`, each once, with values of `valueBytes`, into a cluster. */
export interface FillLoad {
  /** A cluster port. */
  readonly port: number;
  readonly first: number;
  readonly count: number;
  readonly valueBytes: number;
  /** Connections to each node. */
  readonly clients: number;
  /** Commands that are sent together; the next ones go when these are answered. */
  readonly pipeline: number;
}

export interface FillResult {
  readonly seconds: number;
}

const DIGITS = 12;

export function fillKey(at: number): string {
  return `key:${String(at).padStart(DIGITS, '0')}`;
}

/** Of keys and values, without anything that a store adds to them. */
export function rawBytes({ count, valueBytes }: Pick<FillLoad, 'count' | 'valueBytes'>): number {
  return count * (fillKey(0).length + valueBytes);
}

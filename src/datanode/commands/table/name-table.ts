/**
 * Rows by name as clients spell it, in any case, found without making a string: a hash of the bytes
 * in lower case, then the bytes themselves. Names are asked for four times a command and more.
 */

/** Longer than any name: what a client sends is not looked at any further. */
export const NAME_BYTES_MAX = 64;

interface Entry<Row> {
  /** In lower case. */
  readonly name: string;
  readonly row: Row;
}

export class NameTable<Row> {
  readonly #entries = new Map<number, Entry<Row>[]>();

  /** `rows` by name in lower case, ASCII. */
  constructor(rows: Iterable<readonly [name: string, row: Row]>) {
    for (const [name, row] of rows) {
      const hash = hashOf(Buffer.from(name, 'latin1'));
      const others = this.#entries.get(hash);
      if (others === undefined) this.#entries.set(hash, [{ name, row }]);
      else others.push({ name, row });
    }
  }

  find(name: Buffer): Row | undefined {
    if (name.length > NAME_BYTES_MAX) return undefined;
    const entries = this.#entries.get(hashOf(name));
    if (entries === undefined) return undefined;
    for (const entry of entries) if (isSpelled(entry.name, name)) return entry.row;
    return undefined;
  }
}

function hashOf(name: Buffer): number {
  let hash = name.length;
  for (let at = 0; at < name.length; at++) {
    hash = (Math.imul(hash, 31) + lowered(name[at]!)) & 0x3fff_ffff;
  }
  return hash;
}

function isSpelled(lower: string, name: Buffer): boolean {
  if (lower.length !== name.length) return false;
  for (let at = 0; at < name.length; at++) {
    if (lower.charCodeAt(at) !== lowered(name[at]!)) return false;
  }
  return true;
}

const [UPPER_A, UPPER_Z, TO_LOWER] = [0x41, 0x5a, 0x20];

function lowered(byte: number): number {
  return byte >= UPPER_A && byte <= UPPER_Z ? byte + TO_LOWER : byte;
}

/** Reads, over a connection of its own, what lies under the keys that clients wrote. */
import { KvorumError } from '../../common/errors.ts';
import type { Found } from './checker.ts';
import { PlainConnection } from './plain-connection.ts';
import type { Told } from './told.ts';

/** Elements of a list that are asked for at once. */
const SLICE = 1_000;

/** `address`: host:port of any datanode's gateway. Rejects when it cannot read them all. */
export async function readBack(
  address: string,
  told: readonly Told[],
): Promise<ReadonlyMap<string, Found>> {
  const connection = new PlainConnection(address);
  try {
    const found = new Map<string, Found>();
    for (const { kind, key } of told) {
      found.set(
        key,
        kind === 'list' ? await readList(connection, key) : await readText(connection, key),
      );
    }
    return found;
  } finally {
    connection.close();
  }
}

async function readText(connection: PlainConnection, key: string): Promise<string | null> {
  const value = await connection.ask('GET', key);
  if (value === null || typeof value === 'string') return value;
  throw new KvorumError('BAD_FRAME', `GET ${key} answered neither a text nor null`);
}

async function readList(connection: PlainConnection, key: string): Promise<string[]> {
  const elements: string[] = [];
  for (;;) {
    const [from, to] = [elements.length, elements.length + SLICE - 1];
    const slice = await connection.ask('LRANGE', key, String(from), String(to));
    if (!Array.isArray(slice)) throw new KvorumError('BAD_FRAME', `LRANGE ${key} gave no list`);
    elements.push(...slice.map(String));
    if (slice.length < SLICE) return elements;
  }
}

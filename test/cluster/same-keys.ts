/** Whether a Redis and a namespace have the same keys, read by type: their encodings may differ. */
import type { Redis } from 'ioredis';

type Shown = Record<string, unknown>;

/** Names of keys that are not the same in both, with what each has; empty: all are. */
export function differences(ours: Shown, theirs: Shown): readonly string[] {
  const names = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  return [...names].flatMap((name) => {
    const [a, b] = [ours[name], theirs[name]].map((value) => JSON.stringify(value) ?? 'nothing');
    if (a === b) return [];
    let at = 0;
    while (a![at] === b![at]) at++;
    const shown = [a, b].map((text) => text!.slice(Math.max(0, at - 60), at + 60));
    return [`${name}: ${shown[0]} in place of ${shown[1]}`];
  });
}

/** Every key of `client` with its type, value and deadline. */
export async function allKeys(client: Redis): Promise<Shown> {
  const shown: Shown = {};
  let cursor = '0';
  do {
    const [next, keys] = await client.scan(cursor, 'COUNT', 500);
    cursor = next;
    const values = await Promise.all(keys.map((key) => shownValue(client, key)));
    keys.forEach((key, at) => {
      shown[key] = values[at];
    });
  } while (cursor !== '0');
  return Object.fromEntries(Object.entries(shown).sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function shownValue(client: Redis, key: string): Promise<unknown> {
  const [type, deadline] = await Promise.all([client.type(key), client.call('PEXPIRETIME', key)]);
  return { type, deadline, value: await content(client, key, type) };
}

async function content(client: Redis, key: string, type: string): Promise<unknown> {
  switch (type) {
    case 'string':
      return client.get(key);
    case 'list':
      return client.lrange(key, 0, -1);
    case 'set':
      return (await client.smembers(key)).sort();
    case 'hash':
      return Object.entries(await client.hgetall(key)).sort();
    case 'zset':
      return scores((await client.call('ZRANGE', key, '0', '-1', 'WITHSCORES')) as unknown[]);
    default:
      return streamOf(client, key);
  }
}

async function streamOf(client: Redis, key: string): Promise<unknown> {
  const info = (await client.call('XINFO', 'STREAM', key, 'FULL', 'COUNT', '0')) as unknown[];
  const field = (from: unknown[], name: string) => from[from.indexOf(name) + 1];
  const groups = (field(info, 'groups') as unknown[][]).map((group) => ({
    ...Object.fromEntries(
      ['name', 'last-delivered-id', 'pel-count', 'pel'].map((name) => [name, field(group, name)]),
    ),
    consumers: (field(group, 'consumers') as unknown[][]).map((one) => field(one, 'name')),
  }));
  const counts = ['length', 'last-generated-id', 'max-deleted-entry-id', 'entries-added'];
  return {
    counts: counts.map((name) => field(info, name)),
    entries: await client.xrange(key, '-', '+'),
    groups,
  };
}

/** Pairs, flat or not: Redis writes a score with more digits than it needs. */
function scores(pairs: readonly unknown[]): unknown {
  const flat = pairs.flat();
  return flat.map((one, at) => (at % 2 === 0 ? one : String(Number(one))));
}

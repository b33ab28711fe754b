import { beforeEach, describe, expect, test } from 'vitest';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../lone-partition.ts';

let partition: LonePartition;

beforeEach(async () => {
  partition = await LonePartition.open();
});

type Item = string | readonly Item[];

function itemOf(reply: Reply): Item {
  if (reply.kind === 'bulk') return reply.bytes.toString('latin1');
  if (reply.kind === 'array') return reply.items.map(itemOf);
  throw new Error(JSON.stringify(reply));
}

async function pageOf(...words: string[]): Promise<{ cursor: string; items: readonly Item[] }> {
  const reply = await partition.call(...words);
  const [first] = itemOf(reply) as readonly (readonly Item[])[];
  const [cursor, ...items] = first!;
  return { cursor: cursor as string, items };
}

async function scan(command: string, type: string, table: string, ...options: string[]) {
  const pages: (readonly Item[])[] = [];
  let cursor = '';
  do {
    const page = await pageOf(command, type, table, cursor, ...options);
    pages.push(page.items);
    cursor = page.cursor;
  } while (cursor !== '');
  return pages;
}

async function fill(): Promise<string[]> {
  const names = Array.from({ length: 900 }, (_, at) => String(at).padStart(3, '0'));
  for (const name of names) await partition.call('SET', `t:${name}`, name);
  for (const name of names.slice(0, 50)) await partition.call('RPUSH', `t:list${name}`, '1', '2');
  for (const name of names.slice(0, 50)) await partition.call('SET', `t2:${name}`, name);
  return names;
}

describe('ZAN.SCAN', () => {
  test('gives each key of the table and type once, in either direction', async () => {
    const names = await fill();
    const forward = await scan('ZAN.SCAN', 'KV', 't', 'COUNT', '40');
    expect(forward.flat().sort()).toEqual(names);
    expect(forward.every((page) => page.length <= 40)).toBe(true);
    const back = await scan('ZAN.SCAN', 'KV', 't', 'REV', 'COUNT', '40');
    expect(back.flat()).toEqual(forward.flat().reverse());
    expect((await scan('ZAN.SCAN', 'LIST', 't', 'COUNT', '7')).flat()).toHaveLength(50);
    expect((await scan('ZAN.SCAN', 'KV', 't2')).flat()).toHaveLength(50);
  });

  test('gives what was there throughout while keys come and go, its cursor’s own too', async () => {
    const names = await fill();
    const first = await pageOf('ZAN.SCAN', 'KV', 't', '', 'COUNT', '100');
    await partition.call('DEL', first.cursor, 't:new', `t:${names[800]}`);
    await partition.call('SET', 't:more', '1');
    const seen = new Set(first.items);
    let { cursor } = first;
    while (cursor !== '') {
      const page = await pageOf('ZAN.SCAN', 'KV', 't', cursor, 'COUNT', '100');
      for (const item of page.items) seen.add(item);
      cursor = page.cursor;
    }
    const missing = names.filter((name) => !seen.has(name) && name !== names[800]);
    expect(missing).toEqual([]);
  });

  test('leaves out keys that have expired', async () => {
    await partition.call('SET', 't:a', '1', 'PX', '1000');
    await partition.call('SET', 't:b', '1');
    partition.nowMs += 1_000;
    expect((await pageOf('ZAN.SCAN', 'KV', 't', '')).items).toEqual(['b']);
    expect((await pageOf('ZAN.FULLSCAN', 'KV', 't', '')).items).toEqual([['b', '1']]);
  });

  test('ends a page beyond 8 MiB of long names, and the next ones give the rest', async () => {
    const nameOf = (at: number) => `${at}`.padStart(2, '0') + 'n'.repeat(400 * 1024);
    const names = Array.from({ length: 45 }, (_, at) => nameOf(at));
    for (const name of names) await partition.call('SET', `t:${name}`, '');
    const pages = await scan('ZAN.SCAN', 'KV', 't', 'COUNT', '5000');
    expect(pages.map((page) => page.length)).toEqual([21, 21, 3]);
    expect(pages.flat().sort()).toEqual(names);
  });

  test('ends a page after looking at 10,000 keys, with none found', {
    timeout: 60_000,
  }, async () => {
    for (let at = 0; at < 10_050; at += 50) {
      const pairs = Array.from({ length: 50 }, (_, one) => [`other:${at + one}`, '1']);
      await partition.call('MSET', ...pairs.flat());
    }
    const first = await pageOf('ZAN.SCAN', 'KV', 't', '');
    expect(first.items).toEqual([]);
    expect(first.cursor).toMatch(/^other:\d+$/);
    expect(await pageOf('ZAN.SCAN', 'KV', 't', first.cursor)).toEqual({ cursor: '', items: [] });
  });
});

/** Values of several pages, put together by key. */
function joined(pages: readonly (readonly Item[])[]): Map<string, Item[]> {
  const values = new Map<string, Item[]>();
  for (const item of pages.flat()) {
    const [name, ...elements] = item as readonly Item[];
    values.set(name as string, [...(values.get(name as string) ?? []), ...elements]);
  }
  return values;
}

describe('ZAN.FULLSCAN', () => {
  test('gives strings with their values', async () => {
    const names = await fill();
    const pages = await scan('ZAN.FULLSCAN', 'KV', 't', 'COUNT', '70');
    expect(pages.slice(0, -1).every((page) => page.length === 70)).toBe(true);
    expect([...joined(pages)].sort()).toEqual(names.map((name) => [name, [name]]));
  });

  test.each(['HASH', 'LIST', 'SET', 'ZSET'])(
    'gives each element of each %s once, however pages cut them',
    async (type) => {
      const elements = Array.from({ length: 23 }, (_, at) => `e${String(at).padStart(2, '0')}`);
      for (const name of ['a', 'b', 'c', 'd']) {
        for (const [at, element] of elements.entries()) {
          if (type === 'HASH') await partition.call('HSET', `t:${name}`, element, String(at));
          else if (type === 'LIST') await partition.call('RPUSH', `t:${name}`, element);
          else if (type === 'SET') await partition.call('SADD', `t:${name}`, element);
          else await partition.call('ZADD', `t:${name}`, String(at), element);
        }
      }
      const paired = type === 'HASH' || type === 'ZSET';
      const expected = elements.map((element, at) => (paired ? [element, String(at)] : element));
      for (const count of ['1', '5', '23', '46', '500']) {
        const pages = await scan('ZAN.FULLSCAN', type, 't', 'COUNT', count);
        const values = joined(pages);
        expect([...values.keys()].sort()).toEqual(['a', 'b', 'c', 'd']);
        for (const value of values.values()) {
          const inOrder = type === 'LIST' ? value : [...value].sort();
          expect(inOrder).toEqual(expected);
        }
        const sizes = pages.map((page) =>
          page.reduce((sum, item) => sum + (item as readonly Item[]).length - 1, 0),
        );
        expect(Math.max(...sizes)).toBeLessThanOrEqual(Number(count));
      }
    },
  );

  test('goes on when the key it broke off in is gone, or of another type', async () => {
    for (const name of ['a', 'b', 'c']) await partition.call('RPUSH', `t:${name}`, '1', '2', '3');
    const first = await pageOf('ZAN.FULLSCAN', 'LIST', 't', '', 'COUNT', '2');
    const [broken] = first.items[0] as readonly string[];
    await partition.call('SET', `t:${broken}`, 'x');
    const rest = await pageOf('ZAN.FULLSCAN', 'LIST', 't', first.cursor);
    const others = ['a', 'b', 'c'].filter((name) => name !== broken);
    expect(rest.items.map((item) => (item as readonly Item[])[0]).sort()).toEqual(others);
  });
});

import { beforeEach, describe, expect, test } from 'vitest';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../lone-partition.ts';

let partition: LonePartition;

beforeEach(async () => {
  partition = await LonePartition.open();
});

function bytesOf(reply: Reply | undefined): Buffer {
  if (reply?.kind === 'bulk') return reply.bytes;
  throw new Error(`no bulk: ${JSON.stringify(reply)}`);
}

interface Page {
  readonly cursor: Buffer;
  readonly items: readonly string[];
}

async function pageOf(...words: (string | Buffer)[]): Promise<Page> {
  const reply = await partition.call('ZAN.ELEMENTS', ...words);
  if (reply.kind !== 'array' || reply.items[1]?.kind !== 'array') {
    throw new Error(JSON.stringify(reply));
  }
  const items = reply.items[1].items.map((item) => bytesOf(item).toString('latin1'));
  return { cursor: bytesOf(reply.items[0]), items };
}

/** All pages until the empty cursor. */
async function scan(type: string, key: string, ...options: string[]): Promise<Page[]> {
  const pages: Page[] = [];
  let cursor: Buffer = Buffer.alloc(0);
  do {
    const page = await pageOf(type, key, cursor, ...options);
    pages.push(page);
    cursor = page.cursor;
  } while (cursor.length > 0);
  return pages;
}

const name = (at: number) => `m${String(at).padStart(5, '0')}`;

async function fill(size: number): Promise<string[]> {
  const names = Array.from({ length: size }, (_, at) => name(at));
  for (let at = 0; at < size; at += 1_000) {
    await partition.call('SADD', 's', ...names.slice(at, at + 1_000));
  }
  return names;
}

describe('a collection', () => {
  test('is walked in the order of its members, to both sides', async () => {
    const names = await fill(1_000);
    const forward = await scan('SET', 's', 'COUNT', '70');
    expect(forward.flatMap(({ items }) => items)).toEqual(names);
    expect(forward.map(({ items }) => items.length)).toEqual([...Array(14).fill(70), 20]);
    expect(forward[0]!.cursor.toString()).toBe(name(69));
    const back = await scan('SET', 's', 'REV', 'COUNT', '70');
    expect(back.flatMap(({ items }) => items)).toEqual(names.reverse());
  });

  test('of more elements than one page takes is given in several, whatever COUNT says', async () => {
    await fill(3_000);
    const pages = await scan('SET', 's', 'COUNT', '5000');
    expect(pages.map(({ items }) => items.length)).toEqual([1_024, 1_024, 952]);
  });

  test('is walked from a member that is not there, or has gone since', async () => {
    await fill(100);
    expect((await pageOf('SET', 's', 'm00042x', 'COUNT', '1')).items).toEqual([name(43)]);
    expect((await pageOf('SET', 's', 'm00042x', 'REV', 'COUNT', '1')).items).toEqual([name(42)]);
    await partition.call('SREM', 's', name(42), name(43));
    expect((await pageOf('SET', 's', name(42), 'COUNT', '1')).items).toEqual([name(44)]);
    expect((await pageOf('SET', 's', name(43), 'REV', 'COUNT', '1')).items).toEqual([name(41)]);
  });

  test('COUNT counts what matches', async () => {
    await fill(500);
    const pages = await scan('SET', 's', 'MATCH', '*7', 'COUNT', '20');
    expect(pages.map(({ items }) => items.length)).toEqual([20, 20, 10]);
    expect(pages[0]!.items.slice(0, 2)).toEqual([name(7), name(17)]);
  });

  test.each([
    ['forward', []],
    ['back', ['REV']],
  ])('that is large is walked as it is stored, each once: %s', async (_, options) => {
    const names = await fill(6_000);
    const pages = await scan('SET', 's', 'COUNT', '500', ...options);
    expect(pages).toHaveLength(12);
    expect(pages[0]!.cursor.toString('latin1')).toMatch(/^\0stored order\0/);
    expect(pages.flatMap(({ items }) => items).sort()).toEqual(names);
  });

  test('that is large goes from a member of the client’s own in the order of members', async () => {
    await fill(5_000);
    const page = await pageOf('SET', 's', name(4_000), 'COUNT', '2');
    expect(page).toMatchObject({ items: [name(4_001), name(4_002)] });
    expect(page.cursor.toString()).toBe(name(4_002));
  });

  test('that shrinks or grows meanwhile goes on as it was begun', async () => {
    const names = await fill(5_000);
    const first = await pageOf('SET', 's', '', 'COUNT', '1000');
    await partition.call('SREM', 's', ...names.slice(0, 2_000));
    const left = new Set(names.slice(2_000));
    const seen = new Set(first.items);
    let cursor = first.cursor;
    while (cursor.length > 0) {
      const page = await pageOf('SET', 's', cursor, 'COUNT', '1000');
      for (const item of page.items) seen.add(item);
      cursor = page.cursor;
    }
    expect([...left].filter((item) => !seen.has(item))).toEqual([]);
  });

  test('whose member looks like a mark but is none is walked behind that member', async () => {
    await partition.call('SADD', 's', '\0stored order\0abcdefgh', 'b', 'c');
    const page = await pageOf('SET', 's', '\0stored order\0abcdefgh');
    expect(page.items).toEqual(['b', 'c']);
  });
});

test('fields that have expired are left out, in either order', async () => {
  const fields = Array.from({ length: 4_200 }, (_, at) => [name(at), String(at)]);
  for (let at = 0; at < fields.length; at += 700) {
    await partition.call('HSET', 'h', ...fields.slice(at, at + 700).flat());
  }
  await partition.call('HSET', 'small', 'a', '1', 'b', '2', 'c', '3');
  await partition.call('HPEXPIRE', 'h', '1000', 'FIELDS', '2', name(0), name(1));
  await partition.call('HPEXPIRE', 'small', '1000', 'FIELDS', '1', 'b');
  partition.nowMs += 2_000;
  expect((await pageOf('HASH', 'small', '')).items).toEqual(['a', '1', 'c', '3']);
  const pages = await scan('HASH', 'h', 'COUNT', '1000');
  const given = pages.flatMap(({ items }) => items);
  expect(given).toHaveLength(2 * 4_198);
  expect(given).not.toContain(name(0));
});

test('a page ends where its elements become long', async () => {
  const long = 'x'.repeat(3 * 1024 * 1024);
  for (const field of ['a', 'b', 'c', 'd', 'e']) await partition.call('HSET', 'h', field, long);
  const pages = await scan('HASH', 'h');
  expect(pages.map(({ items }) => items.filter((item) => item.length === 1))).toEqual([
    ['a', 'b', 'c'],
    ['d', 'e'],
  ]);
});

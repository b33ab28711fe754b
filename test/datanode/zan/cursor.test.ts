import { describe, expect, test } from 'vitest';
import { decodeCursor, encodeCursor } from '../../../src/datanode/zan/cursor.ts';

const place = (partition: number, text: string) => ({ partition, place: Buffer.from(text) });

test('a cursor is base64 of partition:base64(place); one after the other', () => {
  const places = [place(0, 'a'), place(12, 'table:k;|:@'), place(3, '')];
  const cursor = encodeCursor(places);
  expect(Buffer.from(cursor.toString(), 'base64').toString()).toBe(
    '0:YQ==;12:dGFibGU6azt8OkA=;3:;',
  );
  expect(decodeCursor(cursor, 16)).toEqual(places);
});

test.each([
  ['MDpNVEU9OzE6TVE9PTsyOk1BPT07', [place(0, '11'), place(1, '1'), place(2, '0')]],
  ['MjpUVlJyUFRvPTs=', [place(2, 'MTk=:')]],
])("%s: one that ZanRedisDB's own clients have met", (cursor, places) => {
  expect(decodeCursor(Buffer.from(cursor), 16)).toEqual(places);
  expect(encodeCursor(places).toString()).toBe(cursor);
});

test.each(['x', 'dGVzdHNjYW46NA==', '====', 'MDpZUT09O', 'eDpZUT09Ow==', 'MA=='])(
  '%s is none',
  (cursor) => {
    expect(decodeCursor(Buffer.from(cursor), 16)).toBeUndefined();
  },
);

describe('a cursor of four partitions', () => {
  const decode = (text: string) =>
    decodeCursor(Buffer.from(Buffer.from(text, 'latin1').toString('base64')), 4);

  test('has a place of each at most, and each once', () => {
    expect(decode('0:;1:;2:;3:;')).toHaveLength(4);
    expect(decode('0:;1:;2:;3:;4:;')).toBeUndefined();
    expect(decode('0:;1:;0:YQ==;')).toBeUndefined();
  });

  test('is refused at once, however long it is and whatever it holds', () => {
    const bytes = 9 * 1024 * 1024;
    for (const text of [
      '0:;'.repeat(bytes / 3),
      `${';'.repeat(bytes)}x`,
      `0:${'YQ=='.repeat(bytes / 4)}`,
    ]) {
      const began = process.cpuUsage();
      expect(decode(text)).toBeUndefined();
      expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
    }
  });

  test('may hold the longest place there is, and no longer one', () => {
    const cursor = (bytes: number) =>
      encodeCursor([{ partition: 1, place: Buffer.alloc(bytes, 'a') }, place(2, '')]);
    // a key of 512 KiB and a member of 16 MiB, in base64
    expect(decodeCursor(cursor(23_060_000), 4)).toHaveLength(2);
    expect(decodeCursor(cursor(23_100_000), 4)).toBeUndefined();
  });
});

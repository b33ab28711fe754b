import { expect, test } from 'vitest';
import { decodeCursor, encodeCursor } from '../../../src/datanode/zan/cursor.ts';

const place = (partition: number, text: string) => ({ partition, place: Buffer.from(text) });

test('a cursor is base64 of partition:base64(place); one after the other', () => {
  const places = [place(0, 'a'), place(12, 'table:k;|:@'), place(3, '')];
  const cursor = encodeCursor(places);
  expect(Buffer.from(cursor.toString(), 'base64').toString()).toBe(
    '0:YQ==;12:dGFibGU6azt8OkA=;3:;',
  );
  expect(decodeCursor(cursor)).toEqual(places);
});

test.each([
  ['MDpNVEU9OzE6TVE9PTsyOk1BPT07', [place(0, '11'), place(1, '1'), place(2, '0')]],
  ['MjpUVlJyUFRvPTs=', [place(2, 'MTk=:')]],
])("%s: one that ZanRedisDB's own clients have met", (cursor, places) => {
  expect(decodeCursor(Buffer.from(cursor))).toEqual(places);
  expect(encodeCursor(places).toString()).toBe(cursor);
});

test.each(['x', 'dGVzdHNjYW46NA==', '====', 'MDpZUT09O', 'eDpZUT09Ow==', 'MA=='])(
  '%s is none',
  (cursor) => {
    expect(decodeCursor(Buffer.from(cursor))).toBeUndefined();
  },
);

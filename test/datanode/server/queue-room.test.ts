import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { lineBytes } from '../../../src/datanode/partition/entries/envelope.ts';
import { QueueRoom } from '../../../src/datanode/server/queue-room.ts';

test('there is room for as many bytes as one request may have', () => {
  const room = new QueueRoom();
  const line = [
    Buffer.from('SET'),
    Buffer.from('a'),
    Buffer.alloc(limits.requestBytesMax / 2 - 64),
  ];
  expect(room.take(line)).toBeUndefined();
  const left = limits.requestBytesMax - lineBytes(line);
  const last = [Buffer.alloc(left - lineBytes([Buffer.alloc(0)]))];
  expect(room.take(last)).toBeUndefined();
  expect(room.take([Buffer.from('PING')])).toMatchObject({
    text: expect.stringContaining(`at most ${limits.requestBytesMax} bytes together`),
  });
});

test('and for as many arguments, which are small and take memory all the same', () => {
  const room = new QueueRoom();
  const line = Array.from({ length: 1_024 }, () => Buffer.alloc(0));
  for (let left = limits.requestArgumentsMax; left > 0; left -= line.length) {
    expect(room.take(line)).toBeUndefined();
  }
  expect(room.take([Buffer.from('PING')])).toMatchObject({
    text: expect.stringContaining(`at most ${limits.requestArgumentsMax} arguments together`),
  });
});

test('and for as much as its values may be padded, each key once', () => {
  const room = new QueueRoom();
  const pads = (key: string) =>
    room.take(['SETBIT', key, '134217720', '1'].map((word) => Buffer.from(word)));
  for (let at = 0; at < 1_000; at++) expect(pads('one')).toBeUndefined();
  const keys = Math.floor(limits.execGrowthBytesMax / limits.valueBytesMax);
  for (let at = 1; at < keys; at++) expect(pads(`k${at}`)).toBeUndefined();
  expect(pads('more')).toMatchObject({ text: expect.stringContaining('pad values') });
});

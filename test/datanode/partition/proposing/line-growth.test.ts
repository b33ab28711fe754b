import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { growthOf } from '../../../../src/datanode/partition/proposing/line-growth.ts';
import { Proposals } from '../../../../src/datanode/partition/proposing/proposals.ts';
import { OK } from '../../../../src/datanode/resp/reply.ts';

const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));
const most = limits.valueBytesMax;

test.each([
  ['SETRANGE k 16777215 x', most - 1],
  ['setrange k 99999999999999999999 x', 0],
  ['SETRANGE k -5 x', 0],
  ['SETRANGE k 5', 0],
  ['SETBIT k 134217720 1', most - 1],
  ['SetBit k 8000 1', 1_000],
  ['BITFIELD k SET u8 #1000 7 GET u8 16', 8_000],
  ['BITFIELD k SET u8 4294967295 7', most],
  ['BITFIELD k GET u8 x', 0],
  ['SET k 16777215', 0],
  ['INCRBY k 16777215', 0],
  ['EXPIRE k 16777215 NX', 0],
])('%s pads up to %i bytes', (text, bytes) => {
  expect(growthOf(line(text))).toBe(bytes);
});

test('writes that pad far have entries of their own, others share one', () => {
  const proposals = new Proposals();
  const batch = { namespace: 'default', partition: 0, kind: 'write', protocol: 2 } as const;
  const gather = (lines: Buffer[][]) =>
    proposals.gather({ ...batch, lines, term: undefined, deadlineMs: 1_000 }).catch(() => {});
  void gather(Array.from({ length: 4 }, (_, at) => line(`SETRANGE k${at} 16777215 x`)));
  void gather(Array.from({ length: 100 }, (_, at) => line(`SETBIT k ${at * 1_000} 1`)));
  const sizes: number[] = [];
  let index = 1;
  proposals.flush(
    0,
    (lines) => Buffer.from([sizes.push(lines.length)]),
    () => ({ ok: true, term: 1, index: index++ }),
  );
  expect(sizes).toEqual([1, 1, 1, 1, 100]);
});

test('what takes effect as a whole is one entry however far it pads, and not refused for that', async () => {
  const proposals = new Proposals();
  const lines = Array.from({ length: 5 }, (_, at) => line(`SETRANGE k${at} 16777215 x`));
  const batch = { namespace: 'default', partition: 0, kind: 'write', protocol: 2 } as const;
  const once = { id: Buffer.from('session-1'), sequence: 1, low: 1 };
  const all = proposals.gather({ ...batch, lines, once, term: undefined, deadlineMs: 1_000 });
  proposals.flush(
    0,
    () => Buffer.from([1]),
    () => ({ ok: true, term: 1, index: 1 }),
  );
  proposals.settle(
    1,
    1,
    lines.map(() => OK),
  );
  expect((await all).map(({ ok }) => ok)).toEqual(lines.map(() => true));
});

/** The checkers of typed commands, on histories made by hand: each objects to what it is there for. */
import { describe, expect, test } from 'vitest';
import { encodeExec } from '../../src/datanode/commands/transactions/exec-line.ts';
import { encodeReply } from '../../src/datanode/resp/encode-reply.ts';
import {
  array,
  bulk,
  error,
  integer,
  NULL_ARRAY,
  type Reply,
} from '../../src/datanode/resp/reply.ts';
import { LonePartition } from '../datanode/commands/lone-partition.ts';
import { checkElements } from './checkers/elements.ts';
import { OpenReads, readsOf } from './checkers/open-reads.ts';
import { QueueModel } from './checkers/queue-model.ts';
import { checkReplies } from './checkers/replies.ts';
import { TimeLeft } from './checkers/time-left.ts';
import type { Applied } from './checkers/witness.ts';
import type { Sent } from './typed.ts';

const lineOf = (text: string) => text.split(' ').map((word) => Buffer.from(word));
const slots = { firstSlot: 0, lastSlot: 16_383 };

/** A call from `fromMs` to `toMs`; without a reply its outcome is not known. */
function sent(text: string, fromMs: number, toMs: number, reply?: Reply, more = {}): Sent {
  return {
    client: 1,
    lines: text.split('; ').map(lineOf),
    transaction: false,
    invokedMs: fromMs,
    returnedMs: reply === undefined ? Number.POSITIVE_INFINITY : toMs,
    reply,
    refused: false,
    ...more,
  };
}

const applied = (text: string, atMs: number, reply: Reply): Applied => ({
  line: lineOf(text),
  reply,
  atMs,
});

describe('replies', () => {
  test('of the log, one entry for each, are right', () => {
    const calls = [
      sent('INCR n', 1, 9, integer(2)),
      sent('INCR n', 1, 5, integer(1)),
      sent('INCR n', 6, 9),
      sent('GET n', 1, 9, bulk('7')),
    ];
    const log = [1, 2, 3].map((value) => applied('INCR n', 3 + value, integer(value)));
    expect(() => checkReplies(calls, log)).not.toThrow();
    expect(() => checkReplies(calls, log.slice(0, 2))).not.toThrow();
  });

  test.each([
    [
      'that differ from the log',
      sent('SPOP s', 1, 9, bulk('a')),
      [applied('SPOP s', 5, bulk('b'))],
    ],
    ['without an entry', sent('SPOP s', 1, 9, bulk('a')), []],
    ['before their entry', sent('SPOP s', 1, 4, bulk('a')), [applied('SPOP s', 5, bulk('a'))]],
    ['of an entry before them', sent('SPOP s', 6, 9, bulk('a')), [applied('SPOP s', 5, bulk('a'))]],
    [
      'of a write that is in the log twice',
      sent('INCR n', 1, 9, integer(2)),
      [applied('INCR n', 5, integer(1)), applied('INCR n', 6, integer(2))],
    ],
    [
      'of a refused write that is in the log',
      sent('INCR n', 1, 9, error('CLUSTERDOWN'), { refused: true }),
      [applied('INCR n', 5, integer(1))],
    ],
  ] as const)('%s are found', (_, call, log) => {
    expect(() => checkReplies([call], log)).toThrow(/^replies: /);
  });

  test('of XREADGROUP are of an entry of the log, unless it waited and found nothing', () => {
    const [now, waited] = ['XREADGROUP GROUP g c', 'XREADGROUP GROUP g c BLOCK 1'].map(
      (line) => `${line} STREAMS x >`,
    ) as [string, string];
    const log = [applied(now, 5, NULL_ARRAY)];
    expect(() => checkReplies([sent(now, 1, 9, NULL_ARRAY)], log)).not.toThrow();
    expect(() => checkReplies([sent(now, 1, 9, NULL_ARRAY)], [])).toThrow(/^replies: /);
    expect(() => checkReplies([sent(waited, 1, 9, NULL_ARRAY)], [])).not.toThrow();
  });

  test('of clients that blocked are those they were served with, and who was not took nothing', () => {
    const line = 'BLPOP {q}0 1';
    const given = array([bulk('{q}0'), bulk('a')]);
    const kept: Reply = { kind: 'encoded', bytes: encodeReply(given, 2) };
    const served = applied(line, 5, kept);
    expect(() => checkReplies([sent(line, 1, 9, given)], [served])).not.toThrow();
    expect(() => checkReplies([sent(line, 1, 9)], [served])).not.toThrow();
    expect(() => checkReplies([sent(line, 1, 9)], [])).not.toThrow();
    expect(() => checkReplies([sent(line, 1, 9, NULL_ARRAY)], [])).not.toThrow();
    expect(() => checkReplies([sent(line, 1, 9, given)], [])).toThrow(/^replies: /);
    expect(() => checkReplies([sent(line, 1, 9, NULL_ARRAY)], [served])).toThrow(/^replies: /);
    expect(() => checkReplies([sent(line, 1, 4, given)], [served])).toThrow(/^replies: /);
  });

  test('of a transaction are those of what it queued', () => {
    const line = encodeExec([lineOf('INCR n'), lineOf('GET n')]);
    const entry = { line, reply: array([integer(1), bulk('1')]), atMs: 5 };
    const call = (reply: Reply) => sent('INCR n; GET n', 1, 9, reply, { transaction: true });
    expect(() => checkReplies([call(entry.reply)], [entry])).not.toThrow();
    const other = array([integer(1), bulk('2')]);
    expect(() => checkReplies([call(other)], [entry])).toThrow(/^replies: /);
    const broken = { ...call(NULL_ARRAY), refused: true };
    expect(() => checkReplies([broken], [entry])).toThrow(/^replies: /);
    expect(() => checkReplies([broken], [])).not.toThrow();
  });
});

describe('elements', () => {
  const left = (...elements: string[]) =>
    new Map([
      ['{q}0', array(elements.map((element) => bulk(element)))],
      ['{q}1', array([])],
    ]);
  const push = sent('RPUSH {q}0 a b', 1, 2, integer(2));

  test('that are taken, there, or perhaps taken are right', () => {
    expect(() => checkElements([push], left('a', 'b'))).not.toThrow();
    expect(() => checkElements([push, sent('LPOP {q}0', 3, 4)], left('b'))).not.toThrow();
    const taken = sent(
      'LMPOP 2 {q}0 {q}1 LEFT COUNT 2',
      3,
      4,
      array([bulk('{q}0'), array([bulk('a')])]),
    );
    expect(() => checkElements([push, taken], left('b'))).not.toThrow();
    const moved = sent('LMOVE {q}0 {q}1 LEFT LEFT', 3, 4, bulk('a'));
    expect(() => checkElements([push, moved], left('b', 'a'))).not.toThrow();
  });

  test('of a sorted set and of transactions are known', () => {
    const all = sent('ZADD {q}z 1 a 7 b; LPUSH {q}1 c', 1, 2, array([integer(2), integer(1)]), {
      transaction: true,
    });
    expect(() => checkElements([all], left('a', 'b'))).toThrow(
      /^elements: 1 elements are gone \(c/,
    );
    const given = array([bulk('{q}z'), array([bulk('a'), bulk('1'), bulk('b'), bulk('7')])]);
    const pop = sent('BZMPOP 1 1 {q}z MIN COUNT 2', 3, 4, given);
    expect(() => checkElements([all, pop], left('c'))).not.toThrow();
    expect(() => checkElements([all, pop], left('c', 'b'))).toThrow(/^elements: b was given twice/);
    const first = sent('ZPOPMIN {q}z', 3, 4, array([bulk('a'), bulk('1')]));
    expect(() => checkElements([all, first], left('c', 'b'))).not.toThrow();
    const gone = sent('BZPOPMAX {q}z 1', 3, 4);
    expect(() => checkElements([all, first, gone], left('c'))).not.toThrow();
  });

  test.each([
    ['lost', [push], left('b')],
    ['lost when one was taken at most', [push, sent('LPOP {q}0', 3, 4)], left()],
    ['lost by a move', [push, sent('LMOVE {q}0 {q}1 LEFT LEFT', 3, 4)], left('b')],
    ['taken and still there', [push, sent('LPOP {q}0', 3, 4, bulk('a'))], left('a', 'b')],
    [
      'taken twice',
      [
        push,
        sent('LPOP {q}0', 3, 4, bulk('a')),
        sent('BLPOP {q}0 1', 3, 4, array([bulk('{q}0'), bulk('a')])),
      ],
      left('b'),
    ],
    ['taken from no list', [push, sent('LPOP {q}0', 3, 4, error('WRONGTYPE'))], left('a', 'b')],
  ] as const)('%s are found', (_, calls, held) => {
    expect(() => checkElements(calls, held)).toThrow(/^elements: /);
  });
});

describe('queues', () => {
  const id = Buffer.from('1');
  const wait = { id, line: lineOf('BLPOP {q}0 1'), protocol: 2, asked: false } as const;
  const lines = ['RPUSH {q}0 a', 'LPUSH {q}0 b'].map(lineOf);
  const body = {
    family: 'redis',
    lines,
    waiting: { ready: [], waiters: [wait], confirmed: [] },
  } as const;
  const served = (element: string) => [{ id, reply: array([bulk('{q}0'), bulk(element)]) }];

  test('serve whoever waits before the next command of the entry, once', () => {
    const model = new QueueModel();
    model.judge(body, [integer(1), integer(1)], served('a'), 'index 2');
    model.judge(body, [integer(2), integer(3)], [], 'index 3');
  });

  test.each([
    ['after the whole entry', [integer(1), integer(2)], served('b')],
    ['not at all', [integer(1), integer(1)], []],
    ['twice', [integer(1), integer(1)], [...served('a'), ...served('b')]],
  ])('that serve %s are found', (_, replies, given) => {
    expect(() => new QueueModel().judge(body, replies, given, 'index 2')).toThrow(/^queues: /);
  });
});

describe('typed reads', () => {
  /** Index 2, applied at 10 ms, makes the set {a}; index 3, at 20 ms, the set {a, b}. */
  async function judge(...reads: Sent[]): Promise<void> {
    const open = new OpenReads(readsOf(reads, slots), [0, 0, 10, 20]);
    const partition = await LonePartition.open();
    const state = { engine: partition.engine, slots, timeMs: () => partition.nowMs };
    await open.judge(1, state);
    await partition.call('SADD', 's', 'a');
    await open.judge(2, state);
    await partition.call('SADD', 's', 'b');
    await open.judge(3, state);
    open.end(1);
  }
  const cards = (fromMs: number, toMs: number, count: number) =>
    sent('SCARD s', fromMs, toMs, integer(count));

  test('of a state of their time are right', async () => {
    await judge(cards(5, 15, 0), cards(5, 15, 1), cards(12, 15, 1), cards(12, 25, 2));
  });

  test.each([
    ['older than what had been applied', cards(22, 25, 1)],
    ['newer than what had been applied', cards(5, 15, 2)],
    ['of no state', cards(5, 25, 3)],
  ])('%s are found', async (_, read) => {
    await expect(judge(cards(12, 15, 1), read)).rejects.toThrow(/^typed reads: /);
  });
});

describe('reads that tell how long ago something was', () => {
  /** Of the one entry, given to ann `ago` before the time of the state. */
  async function judge(toldMs: number, consumer = 'ann', deliveries = 1): Promise<void> {
    const told = array([bulk('1-1'), bulk(consumer), integer(toldMs), integer(deliveries)]);
    const read = sent('XPENDING x g - + 9', 5, 15, array([told]));
    const open = new OpenReads(readsOf([read], slots), [0, 0, 10]);
    const partition = await LonePartition.open();
    await partition.call('XADD', 'x', '1-1', 'f', 'v');
    await partition.call('XGROUP', 'CREATE', 'x', 'g', '0');
    await partition.call('XREADGROUP', 'GROUP', 'g', 'ann', 'STREAMS', 'x', '>');
    const deliveredMs = partition.nowMs;
    const state = { engine: partition.engine, slots, timeMs: () => deliveredMs + 100 };
    await open.judge(2, state);
    open.end(1);
  }

  test.each([100, 170])('are right with the time of the state or a later one: %i', async (told) => {
    await judge(told);
  });

  test.each([
    ['of an earlier time', () => judge(99)],
    ['of another consumer', () => judge(100, 'ben')],
    ['of another delivery', () => judge(100, 'ann', 2)],
  ])('%s are found', async (_, judged) => {
    await expect(judged()).rejects.toThrow(/^typed reads: /);
  });
});

describe('time left', () => {
  const APART_MS = 20;

  /**
   * Index 2, applied at 10 ms, makes a key with 5 s to live, and one of a hash's fields; index 3, at
   * 1,000 ms and logged a second later, another key without a deadline.
   */
  async function judge(...reads: Sent[]): Promise<void> {
    const rule = new TimeLeft(APART_MS);
    const open = new OpenReads(readsOf(reads, slots, rule), [0, 0, 10, 1_000], rule);
    const partition = await LonePartition.open();
    const state = { engine: partition.engine, slots, timeMs: () => partition.nowMs };
    await open.judge(1, state);
    await partition.call('SET', 'e', 'v', 'PX', '5000');
    await partition.call('HSET', 'h', 'f', 'v', 'g', 'v');
    await partition.call('HPEXPIRE', 'h', '5000', 'FIELDS', '1', 'f');
    await open.judge(2, state);
    partition.nowMs += 1_000;
    await partition.call('SET', 's', 'v');
    await open.judge(3, state);
    open.end(1);
    rule.end(1);
  }
  const told = (line: string, fromMs: number, toMs: number, ...numbers: number[]) =>
    sent(line, fromMs, toMs, /^H/.test(line) ? array(numbers.map(integer)) : integer(numbers[0]!));

  test('that follows from a deadline is right', async () => {
    await judge(
      told('PTTL e', 5, 15, -2),
      told('PTTL e', 5, 15, 5_000),
      told('PTTL e', 30, 35, 4_990),
      told('PTTL e', 36, 37, 4_998),
      told('TTL e', 400, 405, 5),
      told('ZAN.TTL KV e', 700, 705, 4),
      told('ZAN.TTL HASH e', 700, 705, -1),
      told('PTTL e', 1_001, 1_005, 4_000),
      told('PTTL e', 1_006, 1_007, 3_990),
      told('TTL s', 1_001, 1_005, -1),
      told('HTTL h FIELDS 3 f g x', 1_001, 1_005, 4, -1, -2),
    );
  });

  test.each([
    ['longer than what was set', told('PTTL e', 12, 15, 5_001)],
    ['longer than what the log has left', told('PTTL e', 1_001, 1_005, 4_001)],
    ['longer by a second', told('TTL e', 1_001, 1_005, 5)],
    ['of no key', told('PTTL e', 1_001, 1_005, -2)],
    ['without an end', told('PTTL e', 1_001, 1_005, -1)],
    ['of a key without a deadline', told('PTTL s', 1_001, 1_005, 1)],
    ['over, of a key that is there', told('PTTL e', 1_001, 1_005, 0)],
    ['of a field, longer than what was set', told('HPTTL h FIELDS 2 f g', 12, 15, 5_001, -1)],
    ['of too few fields', told('HPTTL h FIELDS 2 f g', 12, 15, 5_000)],
  ])('%s is found', async (_, read) => {
    await expect(judge(read)).rejects.toThrow(/^time left: .*is no answer/s);
  });

  test.each([
    ['grows', told('PTTL e', 30, 35, 4_900), told('PTTL e', 40, 45, 4_990)],
    ['stands still', told('PTTL e', 30, 35, 4_900), told('PTTL e', 300, 305, 4_900)],
    [
      'is another for another key',
      told('PTTL e', 30, 35, 4_900),
      told('HPTTL h FIELDS 1 f', 40, 45, 4_990),
    ],
  ])('that %s without a write is found', async (_, ...reads) => {
    await expect(judge(...reads)).rejects.toThrow(/^time left: group 1: more time is left/);
  });
});

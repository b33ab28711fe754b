/** Batches that take effect once, through the only door from log to engine. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { openSession } from '../../../../src/datanode/encoding/sessions/sessions.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine, KeyValue } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { Applier } from '../../../../src/datanode/partition/applying/applier.ts';
import { KeyEventGate } from '../../../../src/datanode/partition/applying/key-event-gate.ts';
import { BATCH_LOST } from '../../../../src/datanode/partition/applying/once-batches.ts';
import {
  decodeEnvelope,
  encodeEnvelope,
} from '../../../../src/datanode/partition/entries/envelope.ts';
import type { ReplicaState } from '../../../../src/datanode/partition/storage/state.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';

const id = Buffer.from('session-1');
const conf = { voters: [1], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
const BIRTH: ReplicaState = { index: 1, term: 1, timeMs: 0, epoch: 1, confState: conf };
const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));

interface Batch {
  readonly sequence: number;
  readonly low?: number;
  readonly texts: readonly string[];
  readonly of?: Buffer;
}

/** A replica, by its engine and what it knows. */
class Copy {
  readonly engine: Engine;
  state: ReplicaState;

  constructor(engine: Engine, state: ReplicaState) {
    this.engine = engine;
    this.state = state;
  }

  static async open(): Promise<Copy> {
    const { engine } = await createMemoryHost().open('1-0');
    const txn = new Txn(engine);
    openSession(txn, id, 0);
    await engine.write(txn.operations());
    return new Copy(engine, BIRTH);
  }

  /** As a snapshot of it makes another. */
  async copied(): Promise<Copy> {
    const { engine } = await createMemoryHost().open('1-0');
    const operations = (await this.image()).map(([key, value]) => ({ key, value }));
    await engine.write(operations.map((one) => ({ type: 'put', ...one }) as const));
    return new Copy(engine, this.state);
  }

  image(): Promise<readonly KeyValue[]> {
    return this.engine.iterate({ gte: Buffer.from([0]), lt: Buffer.from([0xff]) }).next(100_000);
  }

  /** One entry; a new applier each time, as after a restart. */
  async apply(...batches: readonly Batch[]): Promise<string[]> {
    const lines: Buffer[][] = [];
    const once = batches.map(({ sequence, low = 1, texts, of = id }) => {
      const first = lines.length;
      lines.push(...texts.map(line));
      return { first, count: texts.length, id: of, sequence, low };
    });
    const body = { family: 'redis', lines, once } as const;
    const data = encodeEnvelope({ timeMs: 1_000, seed: 7, body });
    expect(decodeEnvelope(data).body).toEqual(body);
    const replies: Reply[] = [];
    const applier = new Applier(systemClock, this.engine, this.state, SHARE, {
      mayGather: () => false,
      applyConfChange: () => conf,
      onClear: () => {},
      onApplied: (entries) => replies.push(...entries.flatMap((entry) => entry.replies)),
      keyEvents: new KeyEventGate(undefined, '', () => ({ isLeader: false, term: 0 })),
      onFault: (error) => {
        throw error;
      },
    });
    const index = this.state.index + 1;
    applier.enqueue([{ index, term: 1, kind: 'normal', data }], () => {});
    await applier.whenIdle();
    this.state = applier.state;
    return replies.map(shown);
  }
}

const SHARE = { firstSlot: 0, lastSlot: 16_383 };

function shown(reply: Reply): string {
  return reply === BATCH_LOST ? 'lost' : encodeReply(reply, 2).toString().trim();
}

test('a batch that comes again answers what it answered, and does nothing', async () => {
  const copy = await Copy.open();
  const texts = ['INCR n', 'RPUSH l a', 'GET', 'INCR l', 'SET s x EX 100 GET'];
  const first = await copy.apply({ sequence: 1, texts });
  expect(first.slice(0, 2)).toEqual([':1', ':1']);
  expect(await copy.apply({ sequence: 1, texts })).toEqual(first);
  const next = { sequence: 2, texts: ['INCR n'] };
  expect(await copy.apply({ sequence: 1, texts }, next, next)).toEqual([...first, ':2', ':2']);
  expect(await copy.apply({ sequence: 1, low: 2, texts: ['INCR n'] })).toEqual([
    expect.stringMatching(/^-DONE /),
  ]);
  const stranger = { sequence: 1, texts: ['INCR n', 'INCR n'], of: Buffer.from('stranger') };
  expect(await copy.apply(stranger)).toEqual(['lost', 'lost']);
  expect(await copy.apply({ sequence: 3, texts: ['INCR n', 'LLEN l'] })).toEqual([
    ':3',
    expect.stringMatching(/^-ERR the log holds/),
  ]);
});

test('a FLUSHALL that comes again empties nothing', async () => {
  const copy = await Copy.open();
  const flush = { sequence: 1, texts: ['FLUSHALL'] };
  const before = { sequence: 2, texts: ['SET a 1'] };
  const after = { sequence: 3, texts: ['SET b 1'] };
  expect(await copy.apply(before, flush, after)).toEqual(['+OK', '+OK', '+OK']);
  expect(await copy.apply(flush, before)).toEqual(['+OK', '+OK']);
  expect(await copy.apply({ sequence: 4, texts: ['MSETNX a 1 b 1', 'SETNX b 2'] })).toEqual([
    ':0',
    ':0',
  ]);
  expect(await copy.apply({ sequence: 5, texts: ['SET a 2', 'FLUSHALL', 'SETNX a 3'] })).toEqual([
    '+OK',
    '+OK',
    ':1',
  ]);
  const [, flushed, set] = await copy.apply({ sequence: 5, texts: ['x', 'FLUSHALL', 'x'] });
  expect([flushed, set]).toEqual(['+OK', ':1']);
  expect(await copy.apply({ sequence: 6, texts: ['SETNX a 4'] })).toEqual([':0']);
});

test('whatever is sent again, to whichever leader and after whatever snapshot, runs once', async () => {
  const step = fc.oneof(
    // a write: a new one, or one that was sent before
    fc.record({ kind: fc.constant('write' as const), back: fc.nat(6), together: fc.nat(2) }),
    fc.record({ kind: fc.constant('snapshot' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      let [copy, other] = [await Copy.open(), await Copy.open()];
      const answers = new Map<number, string>();
      let newest = 0;
      const draw = (back: number) => Math.max(1, back === 0 ? ++newest : newest - back + 1);
      for (const one of steps) {
        if (one.kind === 'snapshot') {
          [copy, other] = [other, await other.copied()];
          continue;
        }
        const sequences = Array.from({ length: one.together + 1 }, () => draw(one.back));
        newest = Math.max(newest, ...sequences);
        const low = Math.max(1, newest - 6);
        const sent = sequences.map((sequence) => ({ sequence, low, texts: ['INCR n'] }));
        const replies = await copy.apply(...sent);
        expect(await other.apply(...sent)).toEqual(replies);
        sequences.forEach((sequence, at) => {
          const known = answers.get(sequence) ?? replies[at]!;
          expect(replies[at]).toBe(known);
          answers.set(sequence, known);
        });
      }
      const counted = [...answers.values()].map((reply) => Number(reply.slice(1)));
      expect(counted.sort((a, b) => a - b)).toEqual(counted.map((_, at) => at + 1));
      expect(await copy.image()).toEqual(await other.image());
    }),
    { numRuns: 100 },
  );
});

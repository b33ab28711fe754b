/** Snapshot streams that are not what was sent: refused with a reason, and never installed. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { codeOf, KvorumError, messageOf } from '../../src/common/errors.ts';
import { sealRecord } from '../../src/datanode/encoding/record.ts';
import { STATE_KEY } from '../../src/datanode/encoding/system.ts';
import type { Engine } from '../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../src/datanode/engine/memory.ts';
import {
  decodeSnapshotHeader,
  encodeSnapshotChunks,
  encodeSnapshotHeader,
  SnapshotDecoder,
  type SnapshotHeader,
} from '../../src/datanode/partition/snapshot-codec.ts';
import { SnapshotInbox } from '../../src/datanode/partition/snapshot-inbox.ts';
import {
  decodeProgress,
  decodeProgressQuery,
} from '../../src/datanode/partition/snapshot-resume.ts';
import { decodeState, encodeState, type ReplicaState } from '../../src/datanode/partition/state.ts';
import { scale } from '../scale.ts';
import { bending, chunksOf, cuts } from './bytes.ts';
import { check, checkAsync } from './property.ts';

const runs = scale.fuzzSnapshots;
const GENERATION = 3;

const ids = fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 40 }), { maxLength: 4 });
const anyState: fc.Arbitrary<ReplicaState> = fc.record({
  index: fc.integer({ min: 1, max: 2 ** 50 }),
  term: fc.integer({ min: 1, max: 2 ** 50 }),
  timeMs: fc.maxSafeNat(),
  epoch: fc.nat(),
  confState: fc.record({
    voters: ids,
    votersOutgoing: ids,
    learners: ids,
    learnersNext: ids,
    autoLeave: fc.boolean(),
  }),
});

type Pairs = readonly (readonly [key: Buffer, value: Buffer])[];

/** Keys of the encoding with any values, some of them long. */
const anyPairs: fc.Arbitrary<Pairs> = fc
  .uniqueArray(fc.uint8Array({ minLength: 1, maxLength: 12 }), {
    maxLength: 30,
    selector: (key) => Buffer.from(key).toString('hex'),
  })
  .chain((keys) => {
    const size = fc.oneof(fc.nat(60), fc.nat(60), fc.nat(3_000));
    const sizes = fc.array(size, { minLength: keys.length, maxLength: keys.length });
    return sizes.map((all) =>
      keys.map((key, at) => {
        const whole = Buffer.concat([Buffer.of(0x10), key]);
        return [whole, sealRecord(whole, Buffer.alloc(all[at]!, at))] as const;
      }),
    );
  });

interface Sent {
  readonly header: SnapshotHeader;
  readonly pairs: Pairs;
  readonly stream: Buffer;
}

async function sentOf(state: ReplicaState, pairs: Pairs): Promise<Sent> {
  const { engine } = await createMemoryHost().open('1-0');
  const own = sealRecord(STATE_KEY, encodeState(state));
  const all = [[STATE_KEY, own] as const, ...pairs];
  await engine.write(all.map(([key, value]) => ({ type: 'put', key, value })));
  const chunks: Buffer[] = [];
  for await (const chunk of encodeSnapshotChunks(engine)) chunks.push(chunk);
  const { index, term, confState } = state;
  const snapshot = { index, term, confState, data: Buffer.alloc(0) };
  const message = { type: 'snapshot', from: 2, to: 1, term: 9, snapshot } as const;
  const header = { group: 5, id: 77, offset: 0, message };
  return { header, pairs: all, stream: Buffer.concat(chunks) };
}

/** `chunks`, and then the stream breaks off unless `whole`. */
async function* source(chunks: readonly Buffer[], whole = true): AsyncGenerator<Buffer> {
  yield* chunks;
  if (!whole) throw new KvorumError('CONNECTION_LOST', 'the peer has gone');
}

/** Rejects only by name; the inbox then holds nothing that raft could install. */
async function refusal(receiving: Promise<void>): Promise<string | undefined> {
  try {
    await receiving;
    return undefined;
  } catch (failure) {
    expect(['BAD_FRAME', 'CORRUPT', 'CONFLICT'], messageOf(failure)).toContain(codeOf(failure));
    expect(messageOf(failure)).toMatch(/snapshot|record/);
    return messageOf(failure);
  }
}

async function pairsOf(engine: Engine): Promise<Pairs> {
  const found: (readonly [Buffer, Buffer])[] = [];
  const iterator = engine.iterate({ gte: Buffer.of(0), lt: Buffer.of(0xff, 0xff) });
  for (let some = await iterator.next(100); some.length > 0; some = await iterator.next(100)) {
    found.push(...some);
  }
  await iterator.close();
  return found;
}

const sorted = (pairs: Pairs) => [...pairs].sort(([a], [b]) => Buffer.compare(a, b));

async function expectInstalls(inbox: SnapshotInbox, sent: Sent, generation = GENERATION) {
  const received = inbox.take(sent.header.message.snapshot.index);
  expect(received?.generation).toBe(generation);
  expect(await pairsOf(received!.engine)).toEqual(sorted(sent.pairs));
  await received!.engine.close();
}

/** What may happen to the chunks of a stream on their way. */
const shuffle = fc.record({
  bend: fc.option(bending, { freq: 3 }),
  swap: fc.option(fc.tuple(fc.nat(), fc.nat())),
  drop: fc.option(fc.nat()),
  double: fc.option(fc.nat()),
});
type Shuffle = typeof shuffle extends fc.Arbitrary<infer Value> ? Value : never;

function shuffled(stream: Buffer, at: readonly number[], how: Shuffle): Buffer[] {
  const chunks = chunksOf(how.bend === null ? stream : how.bend(stream), at);
  if (chunks.length === 0) return chunks;
  if (how.swap !== null) {
    const [a, b] = how.swap.map((place) => place % chunks.length) as [number, number];
    [chunks[a], chunks[b]] = [chunks[b]!, chunks[a]!];
  }
  if (how.double !== null) {
    const place = how.double % chunks.length;
    chunks.splice(place, 0, chunks[place]!);
  }
  if (how.drop !== null) chunks.splice(how.drop % chunks.length, 1);
  return chunks;
}

describe('a snapshot stream', () => {
  test('gives the same pairs wherever it is cut', async () => {
    await checkAsync(
      runs,
      fc.asyncProperty(anyState, anyPairs, cuts, async (state, pairs, at) => {
        const sent = await sentOf(state, pairs);
        const inbox = new SnapshotInbox({ engines: createMemoryHost() }, 1);
        await inbox.receive(sent.header, source(chunksOf(sent.stream, at)), GENERATION);
        await expectInstalls(inbox, sent);
      }),
    );
  });

  test('that was bent, cut or shuffled is refused; the next one is taken', async () => {
    let refused = 0;
    await checkAsync(
      runs,
      fc.asyncProperty(anyState, anyPairs, cuts, shuffle, async (state, pairs, at, how) => {
        const sent = await sentOf(state, pairs);
        const { index } = sent.header.message.snapshot;
        const chunks = shuffled(sent.stream, at, how);
        const same = Buffer.concat(chunks).equals(sent.stream);
        const inbox = new SnapshotInbox({ engines: createMemoryHost() }, 1);
        const why = await refusal(inbox.receive(sent.header, source(chunks), GENERATION));
        expect(why === undefined).toBe(same);
        if (why === undefined) return;
        refused++;
        expect(inbox.take(index)).toBeUndefined();
        expect(inbox.progress(sent.header.id)).toBe(0);
        await inbox.receive(sent.header, source([sent.stream]), GENERATION);
        await expectInstalls(inbox, sent);
      }),
    );
    expect(refused).toBeGreaterThan(runs / 3);
  });

  test('that broke off goes on after what has come, or begins anew', async () => {
    const place = fc.double({ min: 0, max: 1, noNaN: true });
    const input = fc.tuple(anyState, anyPairs, cuts, place, fc.option(bending, { freq: 2 }));
    await checkAsync(
      runs,
      fc.asyncProperty(input, async ([state, pairs, at, where, bend]) => {
        const sent = await sentOf(state, pairs);
        const inbox = new SnapshotInbox({ engines: createMemoryHost() }, 1);
        const first = sent.stream.subarray(0, Math.floor(where * sent.stream.length));
        const broken = inbox.receive(sent.header, source(chunksOf(first, at), false), GENERATION);
        await expect(broken).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
        const offset = inbox.progress(sent.header.id);
        expect(offset).toBe(first.length);
        const rest = sent.stream.subarray(offset);
        const bent = bend === null ? rest : bend(rest);
        const header = { ...sent.header, offset };
        const why = await refusal(inbox.receive(header, source([bent]), GENERATION));
        expect(why === undefined).toBe(bent.equals(rest));
        if (why !== undefined) {
          const { index } = header.message.snapshot;
          expect(inbox.take(index)).toBeUndefined();
          await inbox.receive(sent.header, source([sent.stream]), GENERATION);
        }
        await expectInstalls(inbox, sent);
      }),
    );
  });

  test('whose header says something else than its data is refused', async () => {
    const other = anyState.chain(({ index, term, confState }) =>
      fc.record(
        { index: fc.constant(index), term: fc.constant(term), confState: fc.constant(confState) },
        { requiredKeys: [] },
      ),
    );
    await checkAsync(
      runs,
      fc.asyncProperty(anyState, other, async (state, said) => {
        const sent = await sentOf(state, []);
        const { message } = sent.header;
        const snapshot = { ...message.snapshot, ...said };
        const header = { ...sent.header, message: { ...message, snapshot } };
        const inbox = new SnapshotInbox({ engines: createMemoryHost() }, 1);
        const why = await refusal(inbox.receive(header, source([sent.stream]), GENERATION));
        if (why === undefined) expect(snapshot).toEqual(message.snapshot);
        else expect(inbox.take(snapshot.index)).toBeUndefined();
      }),
    );
  });

  test('with a bent header is refused by name, or read', () => {
    check(
      runs,
      fc.property(anyState, fc.maxSafeNat(), bending, (state, number, bend) => {
        const snapshot = { ...state, data: Buffer.alloc(0) };
        const message = { type: 'snapshot', from: number, to: 1, term: 9, snapshot } as const;
        const bytes = encodeSnapshotHeader({ group: 5, id: number, offset: number, message });
        try {
          decodeSnapshotHeader(bend(bytes));
        } catch (failure) {
          expect(codeOf(failure)).toBe('BAD_FRAME');
          expect(messageOf(failure)).toMatch(/^snapshot header: /);
        }
      }),
    );
  });
});

describe('the decoders', () => {
  test('of chunks give keys in order only, or refuse by name', () => {
    const chunk = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    check(
      runs,
      fc.property(fc.array(chunk, { maxLength: 8 }), (chunks) => {
        const decoder = new SnapshotDecoder();
        try {
          let last = Buffer.of(0);
          for (const one of chunks) {
            for (const { key } of decoder.decode(one)) {
              expect(Buffer.compare(key, last)).toBeGreaterThan(0);
              expect(key[0]).toBeGreaterThan(0);
              last = Buffer.from(key);
            }
          }
          decoder.finish();
        } catch (failure) {
          expect(['BAD_FRAME', 'CORRUPT'], messageOf(failure)).toContain(codeOf(failure));
        }
      }),
    );
  });

  test('of states and progress give what was written, or refuse it by name', () => {
    check(
      runs,
      fc.property(anyState, bending, (state, bend) => {
        const bytes = encodeState(state);
        expect(decodeState(bytes, 'here')).toEqual(state);
        const bent = bend(bytes);
        for (const decode of [
          () => decodeState(bent, 'here'),
          () => decodeProgress(bent),
          () => decodeProgressQuery(bent),
        ]) {
          try {
            decode();
          } catch (failure) {
            expect(['BAD_FRAME', 'CORRUPT'], messageOf(failure)).toContain(codeOf(failure));
            expect(messageOf(failure)).toMatch(/replica state|snapshot progress/);
          }
        }
      }),
    );
  });
});

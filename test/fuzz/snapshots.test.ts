/** Snapshot streams that are not what was sent: refused with a reason, and never installed. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { codeOf, messageOf } from '../../src/common/errors.ts';
import type { Engine } from '../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../src/datanode/engine/memory.ts';
import { SnapshotInbox } from '../../src/datanode/partition/snapshots/snapshot-inbox.ts';
import { scale } from '../scale.ts';
import { bending, chunksOf, cuts } from './bytes.ts';
import { checkAsync } from './property.ts';
import {
  anyPairs,
  anyState,
  GENERATION,
  type Pairs,
  type Sent,
  sentOf,
  source,
} from './snapshot-streams.ts';

const runs = scale.fuzzSnapshots;

/** Rejects only by name; the inbox then holds nothing that raft could install. */
async function refusal(receiving: Promise<void>): Promise<string | undefined> {
  try {
    await receiving;
    return undefined;
  } catch (failure) {
    const codes = ['BAD_FRAME', 'CORRUPT', 'CONFLICT', 'TOO_NEW'];
    expect(codes, messageOf(failure)).toContain(codeOf(failure));
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
        const inbox = new SnapshotInbox(
          { clock: systemClock, engines: createMemoryHost() },
          1,
          () => true,
        );
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
        const inbox = new SnapshotInbox(
          { clock: systemClock, engines: createMemoryHost() },
          1,
          () => true,
        );
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
        const inbox = new SnapshotInbox(
          { clock: systemClock, engines: createMemoryHost() },
          1,
          () => true,
        );
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
        const inbox = new SnapshotInbox(
          { clock: systemClock, engines: createMemoryHost() },
          1,
          () => true,
        );
        const why = await refusal(inbox.receive(header, source([sent.stream]), GENERATION));
        if (why === undefined) expect(snapshot).toEqual(message.snapshot);
        else expect(inbox.take(snapshot.index)).toBeUndefined();
      }),
    );
  });
});

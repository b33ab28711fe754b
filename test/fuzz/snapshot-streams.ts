/** Snapshots as a node sends them, of any state and pairs. */
import fc from 'fast-check';
import { KvorumError } from '../../src/common/errors.ts';
import { sealRecord } from '../../src/datanode/encoding/records/record.ts';
import { STATE_KEY } from '../../src/datanode/encoding/records/system.ts';
import { createMemoryHost } from '../../src/datanode/engine/memory.ts';
import {
  encodeSnapshotChunks,
  type SnapshotHeader,
} from '../../src/datanode/partition/snapshots/snapshot-codec.ts';
import { encodeState, type ReplicaState } from '../../src/datanode/partition/storage/state.ts';

export const GENERATION = 3;

const ids = fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 40 }), { maxLength: 4 });
export const anyState: fc.Arbitrary<ReplicaState> = fc.record({
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

export type Pairs = readonly (readonly [key: Buffer, value: Buffer])[];

/** Keys of the encoding with any values, some of them long. */
export const anyPairs: fc.Arbitrary<Pairs> = fc
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

export interface Sent {
  readonly header: SnapshotHeader;
  readonly pairs: Pairs;
  readonly stream: Buffer;
}

export async function sentOf(state: ReplicaState, pairs: Pairs): Promise<Sent> {
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
export async function* source(chunks: readonly Buffer[], whole = true): AsyncGenerator<Buffer> {
  yield* chunks;
  if (!whole) throw new KvorumError('CONNECTION_LOST', 'the peer has gone');
}

/** Snapshots of a replica: their streams, headers and progress, and the state within them. */
import fc from 'fast-check';
import { crc32 } from '../../../src/common/checksum.ts';
import { systemClock } from '../../../src/common/clock.ts';
import { createMemoryHost } from '../../../src/datanode/engine/memory.ts';
import {
  decodeSnapshotHeader,
  encodeSnapshotHeader,
  SnapshotDecoder,
} from '../../../src/datanode/partition/snapshots/snapshot-codec.ts';
import { SnapshotInbox } from '../../../src/datanode/partition/snapshots/snapshot-inbox.ts';
import {
  decodeProgress,
  decodeProgressQuery,
  encodeProgress,
  encodeProgressQuery,
} from '../../../src/datanode/partition/snapshots/snapshot-resume.ts';
import { decodeState, encodeState } from '../../../src/datanode/partition/storage/state.ts';
import { chunksOf } from '../bytes.ts';
import { type Door, roomOfDoors } from '../engine/doors.ts';
import { hold, type Room } from '../engine/room.ts';
import { anyPairs, anyState, GENERATION, type Sent, sentOf, source } from '../snapshot-streams.ts';

const TRAILER_BYTES = 16;
const drawn = { seed: 1, numRuns: 24 };
const states = fc.sample(anyState, drawn);

/** The trailer counts and checks what stands before it now. */
function sealStream(body: Buffer): Buffer {
  if (body.length < 1 + TRAILER_BYTES) return body;
  const sealed = Buffer.from(body);
  const stream = sealed.subarray(1, sealed.length - TRAILER_BYTES);
  let pairs = 0;
  for (let at = 0; at + 8 <= stream.length; pairs++) {
    const valueAt = at + 4 + stream.readUInt32BE(at);
    if (valueAt + 4 > stream.length) break;
    at = valueAt + 4 + stream.readUInt32BE(valueAt);
  }
  const trailer = sealed.length - TRAILER_BYTES;
  sealed.writeUInt32BE(0xffff_ffff, trailer);
  sealed.writeBigUInt64BE(BigInt(pairs), trailer + 4);
  sealed.writeUInt32BE(crc32(stream), trailer + 12);
  return sealed;
}

const streamSeeds = (all: readonly Sent[]) =>
  all.map(({ stream }, at) => Buffer.concat([Buffer.of(at), stream]));

/** What is received is installed as a whole or not at all. */
function inbox(all: readonly Sent[]): Door {
  return {
    name: 'inbox',
    codes: ['BAD_FRAME', 'CORRUPT', 'CONFLICT', 'TOO_NEW'],
    says: /snapshot|record/,
    seeds: streamSeeds(all),
    sealed: sealStream,
    async open(body) {
      const sent = all[(body[0] ?? 0) % all.length]!;
      const { index } = sent.header.message.snapshot;
      const receiver = new SnapshotInbox(
        { clock: systemClock, engines: createMemoryHost() },
        1,
        () => true,
      );
      const chunks = chunksOf(body.subarray(1), [0.2, 0.21, 0.7]);
      try {
        await receiver.receive(sent.header, source(chunks), GENERATION);
        const taken = receiver.take(index);
        hold(taken?.state.index === index, () => 'received, but not as its header says');
        await taken?.engine.close();
        return 'installed';
      } catch (failure) {
        hold(receiver.take(index) === undefined, () => 'refused, but there to be installed');
        throw failure;
      } finally {
        await receiver.close();
      }
    },
  };
}

/** The pairs of a stream. */
function decoder(all: readonly Sent[]): Door {
  return {
    name: 'stream',
    codes: ['BAD_FRAME', 'CORRUPT'],
    says: /snapshot|pair|trailer/,
    seeds: streamSeeds(all),
    sealed: sealStream,
    open(body) {
      const found = new SnapshotDecoder();
      let last = Buffer.of(0);
      let pairs = 0;
      for (const chunk of chunksOf(body.subarray(1), [0.4, 0.41])) {
        for (const { key } of found.decode(chunk)) {
          hold(Buffer.compare(key, last) > 0, () => 'keys out of order');
          last = Buffer.from(key);
          pairs++;
        }
      }
      found.finish();
      return `of ${Math.min(pairs, 6)}`;
    },
  };
}

const headers: Door = {
  name: 'header',
  codes: ['BAD_FRAME'],
  says: /^snapshot header: /,
  seeds: states.map(({ index, term, confState }, at) => {
    const snapshot = { index, term, confState, data: Buffer.alloc(0) };
    const message = { type: 'snapshot', from: at, to: 1, term: 9, snapshot } as const;
    return encodeSnapshotHeader({ group: 5, id: 2 ** at, offset: at * 1_000, message });
  }),
  open: (body) => decodeSnapshotHeader(body).message.type,
};

const stateDoor: Door = {
  name: 'state',
  codes: ['CORRUPT', 'BAD_FRAME', 'TOO_NEW'],
  says: /replica state/,
  seeds: states.map(encodeState),
  open: (body) => `${decodeState(body, 'here').confState.autoLeave}`,
};

const queries: Door = {
  name: 'query',
  codes: ['BAD_FRAME'],
  says: /^snapshot progress: /,
  seeds: [encodeProgressQuery({ group: 4, replica: 2 ** 40, id: 9 })],
  open: (body) => `${decodeProgressQuery(body).group === 4}`,
};

const progress: Door = {
  name: 'progress',
  codes: ['BAD_FRAME'],
  says: /^snapshot progress: /,
  seeds: [encodeProgress(0), encodeProgress(2 ** 40)],
  open: (body) => `${decodeProgress(body) === 0}`,
};

export async function openSnapshots(): Promise<Room> {
  const pairs = fc.sample(anyPairs, drawn);
  const all: Sent[] = [];
  for (const [at, state] of states.entries()) all.push(await sentOf(state, pairs[at]!));
  return roomOfDoors('snapshots', 10, [
    ...[inbox(all), decoder(all), headers, stateDoor, queries, progress],
  ]);
}

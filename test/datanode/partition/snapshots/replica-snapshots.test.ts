import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { seededRandom } from '../../../../src/common/random.ts';
import { sealRecord } from '../../../../src/datanode/encoding/records/record.ts';
import { STATE_KEY } from '../../../../src/datanode/encoding/records/system.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { LostStateError } from '../../../../src/datanode/engine/lost-state.ts';
import { createMemoryHost, type MemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type {
  OpenReplica,
  ReplicaWorld,
} from '../../../../src/datanode/partition/replica/replica-world.ts';
import {
  ReplicaSnapshots,
  type SnapshotGround,
} from '../../../../src/datanode/partition/snapshots/replica-snapshots.ts';
import { encodeSnapshotChunks } from '../../../../src/datanode/partition/snapshots/snapshot-codec.ts';
import {
  SnapshotOutbox,
  type SnapshotWire,
} from '../../../../src/datanode/partition/snapshots/snapshot-outbox.ts';
import type { EngineSlot } from '../../../../src/datanode/partition/storage/engine-slot.ts';
import type {
  AppendWork,
  LogWriter,
} from '../../../../src/datanode/partition/storage/log-writer.ts';
import { encodeState } from '../../../../src/datanode/partition/storage/state.ts';
import { EMPTY_CONF } from '../../../../src/datanode/raft/conf-change.ts';
import type { Snapshot } from '../../../../src/datanode/raft/message.ts';
import type { ReplicaLog } from '../../../../src/datanode/raftlog/raft-log.ts';

const state = { index: 7, term: 2, timeMs: 5, epoch: 1, confState: { ...EMPTY_CONF, voters: [1] } };
const { index, term, confState } = state;
const snapshot = { index, term, confState, data: Buffer.alloc(0) };
const message = { type: 'snapshot', from: 2, to: 1, term: 3, snapshot } as const;

async function* source() {
  const { engine } = await createMemoryHost().open('9-0');
  const value = sealRecord(STATE_KEY, encodeState(state));
  await engine.write([{ type: 'put', key: STATE_KEY, value }]);
  yield* encodeSnapshotChunks(engine);
}

function snapshotsOf(engines: MemoryHost, ground: Partial<SnapshotGround>): ReplicaSnapshots {
  return new ReplicaSnapshots(
    { engines } as unknown as ReplicaWorld,
    { id: 1, record: { group: 1 } } as unknown as OpenReplica,
    {
      slot: {} as unknown as EngineSlot,
      log: { generation: 0 } as unknown as ReplicaLog,
      writer: { reset: () => {} } as unknown as LogWriter,
      appliedIndex: () => 3,
      stopped: () => false,
      whenIdle: () => Promise.resolve(),
      onSwitched: () => {},
      step: () => {},
      pendingSnapshot: () => undefined,
      onReport: () => {},
      onFault: (error) => expect.unreachable(String(error)),
      ...ground,
    },
  );
}

test('a state of which too much is being written over is sent later', async () => {
  const { engine } = await createMemoryHost().open('9-0');
  const close = vi.fn(async () => {});
  const getSync = () => {
    throw new LostStateError('9-0');
  };
  const target = { ...engine, snapshot: () => ({ getSync, close }) } as unknown as Engine;
  const outbox = new SnapshotOutbox({} as SnapshotWire, 1 as never, () => target, 1 as never);
  expect(outbox.take(1 as never)).toBe('unavailable');
  expect(close).toHaveBeenCalledOnce();
});

describe('a snapshot whose receiver has no place for it', () => {
  /** Replica 2 sends; `wire` gives what it is to send, and how its stream ends. */
  async function sending(progress = Promise.resolve(0)) {
    const { engine } = await createMemoryHost().open('2-0');
    const value = sealRecord(STATE_KEY, encodeState(state));
    await engine.write([{ type: 'put', key: STATE_KEY, value }]);
    let given: AsyncIterable<Buffer> | undefined;
    const wire = {
      random: seededRandom('outbox'),
      clock: systemClock,
      snapshotProgress: () => progress,
      streamSnapshot: (_message: unknown, _header: Buffer, chunks: AsyncIterable<Buffer>) => {
        given = chunks;
        return new Promise(() => {});
      },
    };
    const outbox = new SnapshotOutbox(wire as unknown as SnapshotWire, 1, () => engine, 2);
    const taken = outbox.take(1);
    if (taken === 'unavailable') return expect.unreachable('the engine has a state');
    const sent = outbox.send({ ...message, snapshot: taken });
    sent.catch(() => {});
    const isGiven = () => given !== undefined;
    const rest = async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of given!) chunks.push(chunk);
      return chunks;
    };
    return { outbox, sent, rest, isGiven };
  }

  test('keeps its sender from nothing: neither from stopping', { timeout: 5_000 }, async () => {
    const { outbox, sent, rest, isGiven } = await sending();
    await expect.poll(isGiven).toBe(true);
    await outbox.end();
    await expect(sent).rejects.toMatchObject({ code: 'STOPPING' });
    // and who asks for it after all is given no half of it for the whole
    await expect(rest()).rejects.toMatchObject({ code: 'STOPPING' });
  });

  test('nor from following another, with a snapshot of that', { timeout: 5_000 }, async () => {
    const { outbox, sent, rest, isGiven } = await sending();
    await expect.poll(isGiven).toBe(true);
    outbox.stepDown();
    await expect(sent).rejects.toMatchObject({ code: 'CANCELLED' });
    await outbox.close();
    await expect(rest()).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  test('and is not begun when that happens before the receiver has said', {
    timeout: 5_000,
  }, async () => {
    let say: (offset: number) => void = () => {};
    const said = new Promise<number>((resolve) => {
      say = resolve;
    });
    const { outbox, sent, isGiven } = await sending(said);
    const ended = outbox.end();
    say(0);
    await ended;
    await expect(sent).rejects.toMatchObject({ code: 'STOPPING' });
    expect(isGiven()).toBe(false);
  });
});

test('a replica that stops before it has switched to a snapshot lets its engine go', async () => {
  const engines = createMemoryHost();
  let stopped = false;
  let applied = () => {};
  const idle = new Promise<void>((resolve) => {
    applied = resolve;
  });
  let exchange: (() => Promise<void>) | undefined;
  const writer = {
    reset: (_work: unknown, _reset: unknown, run: () => Promise<void>) => {
      exchange = run;
    },
  };
  const exchanged: number[] = [];
  const snapshots = snapshotsOf(engines, {
    slot: { exchange: () => exchanged.push(1) } as unknown as EngineSlot,
    writer: writer as unknown as LogWriter,
    stopped: () => stopped,
    whenIdle: () => idle,
    pendingSnapshot: () => snapshot,
  });
  await snapshots.receive({ group: 1, id: 4, offset: 0, message }, source());
  snapshots.install(snapshot, {} as unknown as AppendWork, () => {});
  const switching = exchange!(); // its batch is durable, and the applier is not idle yet
  stopped = true;
  applied();
  await snapshots.close();
  await switching;
  expect(exchanged).toEqual([]);
  // the memory host opens no engine twice
  const { engine } = await engines.open('1-1');
  await engine.close();
});

test('a stream that opens after the core’s yes does not take the snapshot away', async () => {
  let pending: Snapshot | undefined;
  const switched: number[] = [];
  const writer = {
    reset: (_work: unknown, { generation }: { generation: number }) => switched.push(generation),
  };
  const snapshots = snapshotsOf(createMemoryHost(), {
    writer: writer as unknown as LogWriter,
    step: (stepped) => {
      if (stepped.type === 'snapshot') pending = stepped.snapshot;
    },
    pendingSnapshot: () => pending,
  });
  await snapshots.receive({ group: 1, id: 4, offset: 0, message }, source());
  // its sender's connection had broken, or another leads
  const another = snapshots.receive({ group: 1, id: 5, offset: 0, message }, source());
  snapshots.install(snapshot, {} as unknown as AppendWork, () => {}); // the turn ends
  await expect(another).rejects.toMatchObject({ code: 'BUSY' });
  expect(switched).toEqual([1]);
});

test.each([
  ['has no use for it', undefined],
  ['waits for storage with the same one, that came before', { ...snapshot }],
])('a snapshot is let go when the core %s', async (_name, pending) => {
  const engines = createMemoryHost();
  const stepped: string[] = [];
  const snapshots = snapshotsOf(engines, {
    step: ({ type }) => stepped.push(type),
    pendingSnapshot: () => pending,
  });
  await snapshots.receive({ group: 1, id: 4, offset: 0, message }, source());
  expect(stepped).toEqual(['snapshot']);
  expect(await engines.list()).toEqual([]);
});

test('tells what has gone of a snapshot that is on its way, and nothing afterwards', async () => {
  const { engine } = await createMemoryHost().open('9-0');
  const value = sealRecord(STATE_KEY, encodeState(state));
  await engine.write([{ type: 'put', key: STATE_KEY, value }]);
  for (let at = 0; at < 40; at++) {
    await engine.write([{ type: 'put', key: Buffer.of(9, at), value: Buffer.alloc(100_000) }]);
  }
  const shares: (number | undefined)[] = [];
  const wire = {
    random: seededRandom(1),
    snapshotProgress: async () => 0,
    streamSnapshot: async (_message: unknown, _header: Buffer, chunks: AsyncIterable<Buffer>) => {
      for await (const _ of chunks) shares.push(outbox.share(message.to));
    },
  };
  const keep = vi.fn();
  const kept = () => Object.assign(engine.snapshot(), { keep });
  const approximateBytes = () => engine.approximateBytes();
  const holding: Partial<Engine> = { snapshot: kept, approximateBytes };
  const outbox = new SnapshotOutbox(wire as unknown as SnapshotWire, 1, () => holding as Engine, 2);
  const taken = outbox.take(1);
  expect(taken).toMatchObject({ index });
  // it is held for as long as the stream takes
  expect(keep).toHaveBeenCalledOnce();
  expect(outbox.share(message.to)).toBeUndefined();
  await outbox.send(message);
  expect(shares.length).toBeGreaterThan(2);
  expect(shares[0]).toBeGreaterThan(0);
  expect(shares[0]).toBeLessThan(0.6);
  expect(shares).toEqual([...shares].sort());
  expect(shares.at(-1)).toBe(0.99);
  expect(outbox.share(message.to)).toBeUndefined();
  await outbox.close();
});

test('what is being sent ends with the leadership, and may go on should it come back', async () => {
  const { engine } = await createMemoryHost().open('9-0');
  const value = sealRecord(STATE_KEY, encodeState(state));
  await engine.write([{ type: 'put', key: STATE_KEY, value }]);
  for (let at = 0; at < 40; at++) {
    await engine.write([{ type: 'put', key: Buffer.of(9, at), value: Buffer.alloc(100_000) }]);
  }
  let chunksSent = 0;
  let onChunk = () => {};
  const wire = {
    random: seededRandom(1),
    clock: { setTimer: () => ({ cancel() {} }) },
    logger: { warn: () => {} },
    snapshotProgress: async () => 0,
    streamSnapshot: async (_message: unknown, _header: Buffer, chunks: AsyncIterable<Buffer>) => {
      for await (const _ of chunks) {
        chunksSent++;
        onChunk();
      }
    },
  };
  let onReport = (_outcome: string) => {};
  const snapshots = new ReplicaSnapshots(
    wire as unknown as ReplicaWorld,
    { id: 2, record: { group: 1 } } as unknown as OpenReplica,
    {
      slot: { engine } as unknown as EngineSlot,
      log: { firstIndex: () => 1 } as unknown as ReplicaLog,
      onReport: (replica: number, outcome: string) => onReport(`${replica} ${outcome}`),
    } as unknown as SnapshotGround,
  );
  const send = () =>
    new Promise<string>((resolve) => {
      onReport = resolve;
      snapshots.send({ ...message, snapshot: snapshots.take() as Snapshot });
    });
  onChunk = () => snapshots.stepDown();
  expect(await send()).toBe('1 failed');
  expect(chunksSent).toBe(1);
  onChunk = () => {};
  expect(await send()).toBe('1 sent');
  expect(chunksSent).toBeGreaterThan(3);
  await snapshots.close();
});

test.each([
  ['is sent on while the members are the same', [], 8, 7],
  ['is not sent to members that came after it', [4], 8, 8],
  ['is not sent once the log no longer goes on from it', [], 9, 8],
])('a snapshot whose stream broke %s', async (_name, learners, firstIndex, taken) => {
  const { engine } = await createMemoryHost().open('9-0');
  const become = async (now: typeof state) => {
    const value = sealRecord(STATE_KEY, encodeState(now));
    await engine.write([{ type: 'put', key: STATE_KEY, value }]);
  };
  await become(state);
  const wire = {
    random: seededRandom(1),
    clock: { setTimer: () => ({ cancel() {} }) },
    snapshotProgress: async () => 0,
    streamSnapshot: () => Promise.reject(new Error('the connection broke')),
  };
  const outbox = new SnapshotOutbox(wire as unknown as SnapshotWire, 1, () => engine, 2);
  expect(outbox.take(1)).toMatchObject({ index: 7, confState });
  await expect(outbox.send(message)).rejects.toThrow('the connection broke');
  const members = { ...confState, learners };
  await become({ ...state, index: 8, confState: members });
  expect(outbox.take(firstIndex)).toMatchObject({ index: taken, confState: members });
  await outbox.close();
});

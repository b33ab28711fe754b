/** Messages of megabytes: their frames are made in steps, and no append of their group overtakes them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { runAtOnce } from '../../../src/common/slices.ts';
import type { Entry, PeerMessage, WireMessage } from '../../../src/datanode/raft/message.ts';
import { channels, FrameDecoder, FrameWriter } from '../../../src/datanode/transport/frame.ts';
import { LargeBody } from '../../../src/datanode/transport/large-frame.ts';
import type { Link } from '../../../src/datanode/transport/link.ts';
import {
  decodeMessages,
  encodeMessage,
  messageBytes,
} from '../../../src/datanode/transport/message-codec.ts';
import { MessageQueue } from '../../../src/datanode/transport/message-queue.ts';
import type { GroupMessage } from '../../../src/datanode/transport/transport.ts';
import { everyMessage } from './messages.ts';
import { allReachable, eventually, introduce, startNode, type TestNode } from './nodes.ts';

const MIB = 1_048_576;

/** An append with entries of so many bytes. */
function append(index: number, ...sizes: readonly number[]): PeerMessage {
  const entries = sizes.map((size, at): Entry => {
    return { term: 3, index: index + at + 1, kind: 'normal', data: Buffer.alloc(size, 65 + at) };
  });
  return { type: 'append', from: 1, to: 2, term: 3, index, logTerm: 3, commit: 0, entries };
}

function frameOf(message: WireMessage): Buffer {
  const w = new FrameWriter().begin(channels.raft);
  encodeMessage(w, 7, message);
  w.end();
  return w.take();
}

test.each([
  ['large entries', append(1, MIB, 300_000)],
  ['large entries among small ones', append(1, 5, 262_144, 0, 262_143, 700_001, 9)],
  ['small entries only', append(1, 5, 6)],
])('a frame with %s is the same as at once', (_, message) => {
  const body = new LargeBody();
  encodeMessage(body, 7, message);
  expect(runAtOnce(body.frame(channels.raft)).equals(frameOf(message))).toBe(true);
});

test('every message in a large body is the same as at once', () => {
  for (const message of everyMessage) {
    const body = new LargeBody();
    encodeMessage(body, 7, message);
    expect(runAtOnce(body.frame(channels.raft)).equals(frameOf(message))).toBe(true);
  }
});

test('a step copies 64 KiB', () => {
  const body = new LargeBody();
  encodeMessage(body, 7, append(1, 8 * MIB));
  expect([...body.frame(channels.raft)].length).toBeGreaterThanOrEqual(127);
});

/** Takes frames, and keeps them. */
class KeptLink {
  readonly #writer = new FrameWriter();
  readonly #frames: Buffer[] = [];
  congested = false;

  write(encode: (w: FrameWriter) => void): void {
    encode(this.#writer);
    this.#frames.push(this.#writer.take());
  }

  writeWhole(frame: Buffer): void {
    this.#frames.push(frame);
  }

  get indexes(): number[] {
    const indexes: number[] = [];
    const take = (_: number, body: Buffer) => {
      for (const { message } of decodeMessages(body)) {
        indexes.push(message.type === 'append' ? message.index : -1);
      }
    };
    const decoder = new FrameDecoder();
    for (const frame of this.#frames) decoder.push(frame, take);
    return indexes;
  }
}

describe('a queue', () => {
  function queueOf(...messages: readonly PeerMessage[]): MessageQueue {
    const queue = new MessageQueue(1_024 * MIB, systemClock);
    for (const message of messages) queue.push({ group: 7, message }, messageBytes(message));
    return queue;
  }
  const mixed = [append(1, 9), append(2, 2 * MIB), append(3, 9), append(4, 2 * MIB), append(5, 9)];

  test('makes a large frame in later turns, and what is behind it waits', async () => {
    const kept = new KeptLink();
    const link = kept as unknown as Link;
    const queue = queueOf(...mixed);
    expect(queue.encode(link)).toBe(false);
    expect(kept.indexes).toEqual([1]);
    expect(queue.encode(link)).toBe(false);
    expect(kept.indexes).toEqual([1]);
    for (const made of [
      [1, 2],
      [1, 2, 3, 4],
    ]) {
      while (kept.indexes.length < made.length) {
        await nextTurn();
        queue.encode(link);
      }
      expect(kept.indexes.slice(0, made.length)).toEqual(made);
    }
    expect(queue.encode(link)).toBe(false);
    expect(kept.indexes).toEqual([1, 2, 3, 4, 5]);
  });

  test('whose link is gone writes what was being made to nobody, and goes on for the next', async () => {
    const [gone, next] = [new KeptLink(), new KeptLink()];
    const queue = queueOf(append(1, 2 * MIB), append(2, 9));
    queue.encode(gone as unknown as Link);
    queue.clear();
    const message = append(3, 9);
    queue.push({ group: 7, message }, messageBytes(message));
    expect(queue.encode(next as unknown as Link)).toBe(false);
    for (let turns = 0; turns < 50; turns++) await nextTurn();
    expect([gone.indexes, next.indexes]).toEqual([[], [3]]);
  });

  test('whose link is gone makes the frame no further', async () => {
    let turns = 0;
    const clock = {
      monotonicMs: () => turns,
      endOfTurn: (run: () => void) => {
        turns++;
        setImmediate(run);
      },
    };
    const queue = new MessageQueue(1_024 * MIB, clock);
    queue.push({ group: 7, message: append(1, 64 * MIB) }, 64 * MIB);
    queue.encode(new KeptLink() as unknown as Link);
    await nextTurn();
    queue.clear();
    for (let at = 0; at < 50; at++) await nextTurn();
    expect(turns).toBeLessThan(10);
  });

  test('tells of each message when it is written, or dropped at the bound', async () => {
    const kept = new KeptLink();
    const told: string[] = [];
    const indexOf = ({ message }: GroupMessage) => (message.type === 'append' ? message.index : -1);
    const queue = new MessageQueue(5 * MIB, systemClock, {
      onWritten: (message) =>
        told.push(`${indexOf(message)} of ${kept.indexes.length + 1} written`),
      onDropped: (message) => told.push(`${indexOf(message)} dropped`),
    });
    queue.push({ group: 7, message: append(1, 9) }, 9);
    queue.push({ group: 7, message: append(2, 3 * MIB) }, 3 * MIB);
    queue.push({ group: 7, message: append(3, 2 * MIB) }, 2 * MIB);
    queue.push({ group: 7, message: append(4, 9) }, 9);
    expect(told).toEqual(['1 dropped', '2 dropped']);
    while (told.length < 4) {
      queue.encode(kept as unknown as Link);
      await nextTurn();
    }
    expect(told.slice(2)).toEqual(['3 of 2 written', '4 of 2 written']);
  });
});

/** Two nodes whose bulk connection carries what is sent. */
async function withBulk(run: (a: TestNode, b: TestNode) => Promise<void>): Promise<void> {
  const a = await startNode('a');
  const b = await startNode('b');
  try {
    introduce(a, b);
    await eventually('a and b connect', () => allReachable(a, b));
    await eventually('bulk', () => {
      a.transport.send('b', 7, append(0, 70_000));
      return b.received.length > 0;
    });
    b.received.length = 0;
    await run(a, b);
  } finally {
    await a.transport.close();
    await b.transport.close();
  }
}

test('a small append comes behind the large one of its group, and before that of another', () =>
  withBulk(async (a, b) => {
    a.transport.send('b', 7, append(1, 8 * MIB));
    a.transport.send('b', 7, append(2, 9));
    a.transport.send('b', 8, append(3, 9));
    const came = () =>
      b.received.flatMap(({ message }) =>
        message.type === 'append' && message.index > 0 ? [message.index] : [],
      );
    await eventually('all arrive', () => came().length === 3);
    expect(came()).toEqual([3, 1, 2]);
  }));

test('large messages arrive in the order sent, among smaller ones of their connection', () =>
  withBulk(async (a, b) => {
    const sizes = [70_000, 3 * MIB, 70_000, MIB, 5 * MIB, 300_000];
    sizes.forEach((size, at) => {
      a.transport.send('b', 7, append(at + 1, size));
    });
    const came = () =>
      b.received.flatMap(({ message }) => {
        const isOne = message.type === 'append' && message.index > 0;
        return isOne ? [[message.index, message.entries[0]!.data.length]] : [];
      });
    await eventually('all arrive', () => came().length === sizes.length);
    expect(came()).toEqual(sizes.map((size, at) => [at + 1, size]));
  }));

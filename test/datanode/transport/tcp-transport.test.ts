import { afterEach, describe, expect, test } from 'vitest';
import type { PeerMessage } from '../../../src/datanode/raft/message.ts';
import { everyMessage } from './messages.ts';
import { allReachable, eventually, introduce, startNode, type TestNode } from './nodes.ts';

const nodes: TestNode[] = [];

async function start(...args: Parameters<typeof startNode>): Promise<TestNode> {
  const node = await startNode(...args);
  nodes.push(node);
  return node;
}

async function pair(options: Parameters<typeof startNode>[1] = {}): Promise<[TestNode, TestNode]> {
  const a = await start('a', options);
  const b = await start('b', options);
  introduce(a, b);
  await eventually('a and b connect', () => allReachable(a, b));
  return [a, b];
}

afterEach(async () => {
  for (const node of nodes.splice(0)) await node.transport.close();
});

function heartbeat(n: number): PeerMessage {
  return { type: 'heartbeat', from: 1, to: 2, term: 3, commit: n, readContext: 0 };
}

function contexts(node: TestNode): number[] {
  return node.received.map(({ message }) => (message.type === 'heartbeat' ? message.commit : -1));
}

describe('messages', () => {
  test('every type of message arrives as it was sent, both ways', async () => {
    const [a, b] = await pair();
    await eventually('bulk', () => {
      a.transport.send('b', 1, everyMessage.find((m) => m.type === 'snapshot')!);
      return b.received.length > 0;
    });
    b.received.length = 0;
    for (const message of everyMessage) {
      a.transport.send('b', 7, message);
      b.transport.send('a', 8, message);
    }
    for (const [node, from, group] of [
      [b, 'a', 7],
      [a, 'b', 8],
    ] as const) {
      await eventually('all arrive', () => node.received.length >= everyMessage.length);
      const got = node.received.filter((m) => m.group === group);
      expect(got.map((m) => m.from)).toEqual(everyMessage.map(() => from));
      for (const message of everyMessage) {
        expect(got.map((m) => m.message)).toContainEqual(message);
      }
    }
  });

  test('small messages arrive in the order sent', async () => {
    const [a, b] = await pair();
    for (let turn = 0; turn < 20; turn++) {
      for (let i = 0; i < 50; i++) a.transport.send('b', 1, heartbeat(turn * 50 + i));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually('all arrive', () => b.received.length === 1_000);
    expect(contexts(b)).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
  });

  test('the messages of one turn arrive in one frame', async () => {
    const [a, b] = await pair();
    const frames: number[] = [];
    b.handlers.onMessages = (_, messages) => frames.push(messages.length);
    for (let i = 0; i < 200; i++) a.transport.send('b', i, heartbeat(i));
    await eventually('they arrive', () => frames.length > 0);
    expect(frames).toEqual([200]);
  });
});

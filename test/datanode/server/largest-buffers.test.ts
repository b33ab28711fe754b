import { expect, test } from 'vitest';
import type { Session } from '../../../src/datanode/commands/rows/node-context.ts';
import type { ClientConnection } from '../../../src/datanode/server/connection-world.ts';
import { LargestBuffers } from '../../../src/datanode/server/largest-buffers.ts';

let looked = 0;

function connection(requestBytes: number, replyBytes: number): ClientConnection {
  const queued = () => {
    looked++;
    return { requestBytes, replyBytes, replies: 0, transaction: 0, watched: 0 };
  };
  const session = { queued } as unknown as Session;
  return { session, watched: 0, finish: () => {}, destroy: () => {} };
}

/** What so many looks told, and the most clients that one of them was at. */
function look(buffers: LargestBuffers, times: number) {
  const told = { inputBytes: 0, outputBytes: 0, most: 0 };
  for (let at = 0; at < times; at++) {
    looked = 0;
    const { inputBytes, outputBytes } = buffers.look();
    told.inputBytes = Math.max(told.inputBytes, inputBytes);
    told.outputBytes = Math.max(told.outputBytes, outputBytes);
    told.most = Math.max(told.most, looked);
  }
  return told;
}

test('ten thousand clients are looked at in turns, and all of them in as many as were asked for', () => {
  const connections = new Set<ClientConnection>();
  for (let at = 0; at < 10_000; at++) {
    connections.add(connection(at === 6_000 ? 900 : 1, at === 9_999 ? 800 : 2));
  }
  const buffers = new LargestBuffers(connections, 1 / 8);
  for (let round = 0; round < 3; round++) {
    expect(look(buffers, 8)).toEqual({ inputBytes: 900, outputBytes: 800, most: 1_250 });
  }
});

test('few clients are all looked at each time, also those that came or stayed meanwhile', () => {
  const connections = new Set<ClientConnection>();
  const buffers = new LargestBuffers(connections, 1 / 8);
  expect(look(buffers, 2)).toEqual({ inputBytes: 0, outputBytes: 0, most: 0 });
  const [first, second] = [connection(50, 5), connection(10, 60)];
  connections.add(first).add(second);
  expect(look(buffers, 1)).toEqual({ inputBytes: 50, outputBytes: 60, most: 2 });
  connections.delete(first);
  for (let at = 0; at < 3; at++) {
    expect(look(buffers, 1)).toEqual({ inputBytes: 10, outputBytes: 60, most: 1 });
  }
});

import { expect, test } from 'vitest';
import { PartitionMeters } from '../../src/datanode/partition/host/meters.ts';
import { countStreams, receiveStream } from '../../src/datanode/snapshot-meter.ts';
import type { Transport } from '../../src/datanode/transport/transport.ts';

/** Streams to `up` arrive, others break; the rest tells what it was asked. */
function scripted(asked: string[]): Transport {
  return {
    setPeers: () => asked.push('setPeers'),
    send: (to) => asked.push(`send ${to}`),
    request: async (to, body, timeoutMs) => {
      asked.push(`request ${to} ${body} ${timeoutMs}`);
      return Buffer.from('answer');
    },
    stream: async (to) => {
      if (to !== 'up') throw new Error('broken');
    },
    post: (to, body) => asked.push(`post ${to} ${body}`) > 0,
    isReachable: (node) => node === 'up',
    peerWallMs: () => 5,
    port: 7,
    close: async () => {
      asked.push('close');
    },
  };
}

async function* nothing() {}

test('counts what was streamed and what broke, and passes on the rest', async () => {
  const meters = new PartitionMeters();
  const asked: string[] = [];
  const transport = countStreams(scripted(asked), meters);
  await transport.stream('up', Buffer.alloc(0), nothing());
  await expect(transport.stream('down', Buffer.alloc(0), nothing())).rejects.toThrow('broken');
  await receiveStream(meters, Promise.resolve());
  await expect(receiveStream(meters, Promise.reject(new Error('torn')))).rejects.toThrow('torn');
  expect(meters).toMatchObject({ snapshotsSent: 1, snapshotsReceived: 1, snapshotsFailed: 2 });
  transport.setPeers(new Map());
  transport.send('up', 1, { type: 'gone', from: 1, to: 2, term: 0 });
  expect((await transport.request('up', Buffer.from('q'), 9)).toString()).toBe('answer');
  expect(transport.post('up', Buffer.from('p'))).toBe(true);
  expect([transport.isReachable('up'), transport.peerWallMs('up'), transport.port]).toEqual([
    true,
    5,
    7,
  ]);
  await transport.close();
  expect(asked).toEqual(['setPeers', 'send up', 'request up q 9', 'post up p', 'close']);
});

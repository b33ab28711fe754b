/**
 * A client that asks for much and reads nothing: what it is owed waits as requests, not as replies.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LoneNode } from './lone-node.ts';

const MIB = 1_048_576;
const dir = mkdtempSync(join(tmpdir(), 'kvorum-unread-'));
const node = new LoneNode(dir);

beforeAll(async () => {
  node.startDriver();
  await node.start();
}, 300_000);

afterAll(async () => {
  await node.stop();
  rmSync(dir, { recursive: true, force: true });
}, 300_000);

/** Of this process, in MiB: what no file backs. */
function anonymousMiB(): number {
  const kib = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
  return Number(kib) / 1_024;
}

const HASH_MIB = 20;
const REQUESTS = 200;

test('200 replies of 20 MiB that nobody reads do not pile up', { timeout: 400_000 }, async () => {
  const client = node.connect();
  const value = Buffer.alloc(10_000, 'v');
  for (let at = 0; at < HASH_MIB * 100; at += 100) {
    const fields = Array.from({ length: 100 }, (_, one) => [`field ${at + one}`, value]);
    await client.hset('hash', ...fields.flat());
  }
  const before = anonymousMiB();
  const socket = connect(node.datanode.ports.gateway, '127.0.0.1');
  socket.pause();
  socket.on('error', () => {});
  socket.write('HGETALL hash\r\n'.repeat(REQUESTS));
  let most = 0;
  for (let times = 0; times < 50; times++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    most = Math.max(most, anonymousMiB() - before);
  }
  process.stdout.write(
    `RssAnon: ${before.toFixed(0)} MiB, at most ${most.toFixed(0)} MiB more while ${REQUESTS} ` +
      `replies of ${HASH_MIB} MiB wait\n`,
  );
  // others are served meanwhile, and who reads at last gets replies
  expect(await client.hlen('hash')).toBe(HASH_MIB * 100);
  expect(most).toBeLessThan(200);
  // longer than a request waits for a leader: that is not what these wait for
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  let read = 0;
  const all = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      read += chunk.length;
      if (read >= 3 * HASH_MIB * MIB) resolve();
    });
  });
  socket.resume();
  await all;
  socket.destroy();
  client.disconnect();
});

/** What a simulated run may not touch. Synchronous: the test runner itself must not meet a trap. */
import { execFileSync } from 'node:child_process';
import * as crypto from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { openSync, promises, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { connect, createServer, Socket } from 'node:net';
import { setTimeout as later } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { setTraps } from './traps.ts';

const file = import.meta.filename;

const forbidden: Readonly<Record<string, () => unknown>> = {
  'the time': () => Date.now(),
  'the time, as a date': () => new Date(),
  'the time since the start': () => performance.now(),
  'the time in nanoseconds': () => process.hrtime(),
  'the same as a bigint': () => process.hrtime.bigint(),
  'a timer': () => setTimeout(() => {}, 1),
  'a timer by import': () => later(() => {}, 1),
  'a timer by promise': () => sleep(1),
  'a turn of the host’s event loop': () => setImmediate(() => {}),
  'a signal that ends by itself': () => AbortSignal.timeout(1),
  'how long the process runs': () => process.uptime(),
  'how much it has worked': () => process.cpuUsage(),
  'a random number': () => Math.random(),
  'random bytes': () => crypto.randomBytes(8),
  'random bytes of the web': () => globalThis.crypto.getRandomValues(new Uint8Array(8)),
  'a random id': () => crypto.randomUUID(),
  'a random key': () => crypto.generateKeySync('hmac', { length: 64 }),
  'a file, at once': () => readFileSync(file),
  'a file’s descriptor': () => openSync(file, 'r'),
  'a file, by promise': () => promises.readFile(file),
  'a file, by an imported promise': () => open(file),
  'a connection': () => connect(1, '127.0.0.1'),
  'a connection of a socket': () => new Socket().connect(1, '127.0.0.1'),
  'a server': () => createServer(),
  'a request': () => fetch('http://127.0.0.1:1'),
  'a name of the network': () => lookup('localhost'),
  'a process': () => execFileSync('true'),
  'a thread': () => new Worker(file),
};

/** What each attempt threw, while the traps were set. */
function attempts(): Map<string, unknown> {
  const outcomes = new Map<string, unknown>();
  const release = setTraps();
  try {
    for (const [what, attempt] of Object.entries(forbidden)) {
      try {
        attempt();
        outcomes.set(what, 'was allowed');
      } catch (error) {
        outcomes.set(what, String(error));
      }
    }
  } finally {
    release();
  }
  return outcomes;
}

test('real time, chance and I/O throw inside a run, and are back after it', () => {
  for (const [what, outcome] of attempts()) {
    expect(outcome, what).toMatch(/inside a simulation: take it from what is handed in/);
  }
  expect(Date.now()).toBeGreaterThan(1_600_000_000_000);
  expect(new Date().getFullYear()).toBeGreaterThan(2020);
  expect(readFileSync(file, 'utf8')).toContain('inside a run');
  expect(crypto.randomBytes(8)).toHaveLength(8);
});

test('a date of a given moment is no look at the clock', () => {
  const release = setTraps();
  let text: string;
  try {
    text = new Date(0).toISOString();
  } finally {
    release();
  }
  expect(text).toBe('1970-01-01T00:00:00.000Z');
});

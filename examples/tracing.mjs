// node:diagnostics_channel: what commands take, without their arguments.
import assert from 'node:assert/strict';
import { tracingChannel } from 'node:diagnostics_channel';
import { Client } from 'kvorum/sdk';

const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');
const began = new WeakMap();
const told = [];
tracingChannel('kvorum:command').subscribe({
  start: (trace) => began.set(trace, performance.now()),
  asyncEnd: (trace) => {
    told.push({ command: trace.command, ms: performance.now() - began.get(trace) });
  },
});

await client.set('traced', 'secret');
assert.equal(told[0].command, 'set');
assert.ok(told[0].ms > 0);
assert.ok(!JSON.stringify(told).includes('secret'));

await client.close();

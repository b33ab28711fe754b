// node:diagnostics_channel: what commands take, without their arguments.
import assert from 'node:assert/strict';
import { tracingChannel } from 'node:diagnostics_channel';
import { Client } from 'kvorum/sdk';

const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');
const began = new WeakMap();
/** @type {{ command: string, ms: number }[]} */
const told = [];
/** @type {import('node:diagnostics_channel').TracingChannel<unknown, import('kvorum/sdk').CommandTrace>} */
const commands = tracingChannel('kvorum:command');
commands.start.subscribe((trace) => began.set(/** @type {object} */ (trace), performance.now()));
commands.asyncEnd.subscribe((trace) => {
  const context = /** @type {import('kvorum/sdk').CommandTrace} */ (trace);
  told.push({ command: context.command, ms: performance.now() - began.get(context) });
});
// Pipelines, transactions and watches as a whole.
/** @type {import('kvorum/sdk').BatchTrace[]} */
const batches = [];
tracingChannel('kvorum:batch').asyncEnd.subscribe((trace) => {
  batches.push(/** @type {import('kvorum/sdk').BatchTrace} */ (trace));
});

await client.set('traced', 'secret');
assert.equal(told[0]?.command, 'set');
assert.ok(Number(told[0]?.ms) > 0);

await client.pipeline().get('traced').get('other').exec();
assert.deepEqual([batches[0]?.kind, batches[0]?.commands, batches[0]?.failed], ['pipeline', 2, 0]);
assert.ok(Number(batches[0]?.durationMs) > 0);
assert.ok(!JSON.stringify(told).includes('secret'));

await client.close();

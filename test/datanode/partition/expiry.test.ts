import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../../src/common/log.ts';
import { encodeExpiryKey } from '../../../src/datanode/encoding/key.ts';
import { tags } from '../../../src/datanode/encoding/tags.ts';
import { Txn } from '../../../src/datanode/encoding/txn.ts';
import type { Engine } from '../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../src/datanode/engine/memory.ts';
import type { DueKey } from '../../../src/datanode/partition/envelope.ts';
import { Expiry } from '../../../src/datanode/partition/expiry.ts';

test('what nobody reads is deleted when it is due, unless that is switched off', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  txn.beginEntry(1);
  txn.put(encodeExpiryKey(500, Buffer.from('k')), Buffer.from([0]));
  await engine.write(txn.operations());
  const options = { expiresUnread: false };
  const proposed: DueKey[] = [];
  const ground = {
    engine: () => engine,
    appliedTimeMs: () => 100,
    nowMs: () => 1_000,
    propose: (keys: readonly DueKey[]) => {
      proposed.push(...keys);
      return true;
    },
    resume: () => {},
  };
  const expiry = new Expiry(ground, silentLogger, options);
  expiry.lead();
  const ticks = async () => {
    for (let turn = 0; turn < 10; turn++) {
      expiry.tick();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await ticks();
  expect(proposed).toEqual([]);
  options.expiresUnread = true;
  await ticks();
  expect(proposed.map(({ key }) => key.toString())).toEqual(['k']);
});

test.each([
  ['is told of while the replica runs', false, ['expiry scan failed']],
  ['is nothing to tell of once the replica stops', true, []],
])('a scan whose engine ends %s', async (_name, stops, told) => {
  const { engine } = await createMemoryHost().open('1-0');
  const texts: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (text) => texts.push(text) };
  const ground = {
    ...{ engine: () => engine, appliedTimeMs: () => 100, nowMs: () => 1_000 },
    ...{ propose: () => true, resume: () => {} },
  };
  const expiry = new Expiry(ground, logger, { expiresUnread: true });
  expiry.lead();
  if (stops) expiry.stop();
  await engine.close();
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(texts).toEqual(told);
});

const turns = async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** An engine with such deadlines, of keys or, by `tag`, of fields. */
async function engineWith(
  deadlines: readonly number[],
  tag?: typeof tags.fieldExpiry,
): Promise<Engine> {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  txn.beginEntry(1);
  for (const deadlineMs of deadlines) {
    txn.put(encodeExpiryKey(deadlineMs, Buffer.from(`k${deadlineMs}`), tag), Buffer.from([0]));
  }
  await engine.write(txn.operations());
  return engine;
}

/** Deadlines of `engine`, in a group whose newest entry is of 100. */
function sceneOf(engine: Engine) {
  const at = { engine, appliedMs: 100, nowMs: 100 };
  const proposed: string[][] = [];
  let resumed = 0;
  const ground = {
    engine: () => at.engine,
    appliedTimeMs: () => at.appliedMs,
    nowMs: () => at.nowMs,
    propose: (keys: readonly DueKey[]) => {
      proposed.push(keys.map(({ key }) => key.toString()));
      return true;
    },
    resume: () => resumed++,
  };
  const expiry = new Expiry(ground, silentLogger, { expiresUnread: true });
  /** A read comes at this time. */
  const settled = (nowMs: number) => {
    at.nowMs = nowMs;
    return expiry.settled(nowMs);
  };
  return { at, expiry, proposed, settled, resumes: () => resumed };
}

test('reads before a deadline go on, from its very millisecond on they wait for an entry', async () => {
  const { at, expiry, proposed, settled } = sceneOf(await engineWith([500, 900]));
  expiry.lead();
  await turns();
  expect(settled(499)).toBe(true);
  expect(proposed).toEqual([]);
  expect(settled(500)).toBe(false);
  await turns();
  expect(settled(501)).toBe(false);
  await turns();
  expect(proposed).toEqual([['k500']]); // once
  at.appliedMs = 501;
  expiry.onApplied(Number.POSITIVE_INFINITY, true);
  expect(settled(501)).toBe(true); // whatever is known of the next: all up to now is committed
  await turns();
  expect([settled(899), settled(900)]).toEqual([true, false]);
});

test('until it is known which deadline is next, reads wait', async () => {
  const { expiry, settled, resumes } = sceneOf(await engineWith([]));
  expiry.lead();
  expect(settled(101)).toBe(false);
  await turns();
  expect([settled(101), resumes()]).toEqual([true, 1]);
});

test('a deadline that is written while the next is looked up counts', async () => {
  const { expiry, settled } = sceneOf(await engineWith([900]));
  expiry.lead();
  expiry.onApplied(300, false); // behind what the scan sees
  await turns();
  expect([settled(299), settled(300)]).toEqual([true, false]);
});

test('what was looked up in an engine that was exchanged meanwhile does not count', async () => {
  const { at, expiry, settled } = sceneOf(await engineWith([]));
  expiry.lead();
  at.engine = await engineWith([500]);
  expiry.replaced();
  await turns();
  expect(settled(500)).toBe(false);
});

test('a field that is due and not deleted hides later ones: every read waits for an entry', async () => {
  const { proposed, expiry, settled } = sceneOf(await engineWith([50], tags.fieldExpiry));
  expiry.lead();
  await turns();
  expect(settled(101)).toBe(false);
  await turns();
  expect(proposed).toEqual([['k50']]);
});

test('reads of a follower see no time at which a deadline passes that no entry has committed', async () => {
  const { at, expiry, resumes } = sceneOf(await engineWith([500]));
  at.nowMs = 400;
  expect(expiry.readTimeMs()).toBeUndefined();
  await turns();
  expect([expiry.readTimeMs(), resumes()]).toEqual([400, 1]);
  at.nowMs = 800;
  expect(expiry.readTimeMs()).toBe(499);
  expiry.onApplied(450, false);
  expect(expiry.readTimeMs()).toBe(449);
  at.appliedMs = 600; // the leader has committed it
  expect(expiry.readTimeMs()).toBe(600);
  expiry.replaced();
  expect(expiry.readTimeMs()).toBeUndefined();
});

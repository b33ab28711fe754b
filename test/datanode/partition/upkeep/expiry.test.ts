import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { type Logger, silentLogger } from '../../../../src/common/log.ts';
import { encodeExpiryKey } from '../../../../src/datanode/encoding/records/key.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type { DueKey } from '../../../../src/datanode/partition/entries/envelope.ts';
import { Expiry } from '../../../../src/datanode/partition/upkeep/expiry.ts';

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

/** A leader whose entries are applied at once, over so many keys that are due. */
async function backlogOf(count: number, keyBytes = 1, expiresUnread = true) {
  const engine = await engineWith([]);
  const looks: Buffer[] = [];
  const iterate = engine.iterate.bind(engine);
  engine.iterate = (range) => {
    looks.push(range.gte);
    return iterate(range);
  };
  const txn = new Txn(engine);
  txn.beginEntry(1);
  for (let at = 0; at < count; at++) {
    const key = Buffer.from(String(at).padStart(keyBytes, 'k'));
    txn.put(encodeExpiryKey(50, key), Buffer.from([0]));
  }
  await engine.write(txn.operations());
  const proposed: number[] = [];
  const options = { expiresUnread };
  const ground = {
    engine: () => engine,
    ...{ appliedTimeMs: () => 100, nowMs: () => 100, resume: () => {} },
    propose: (keys: readonly DueKey[]) => {
      proposed.push(keys.length);
      const gone = keys.map(({ key, deadlineMs }) => ({
        type: 'del' as const,
        key: encodeExpiryKey(deadlineMs, key),
      }));
      void engine.write(gone).then(() => expiry.onApplied(Number.POSITIVE_INFINITY, true));
      return true;
    },
  };
  const expiry = new Expiry(ground, silentLogger, options);
  expiry.lead();
  await turns();
  return { expiry, proposed, looks };
}

const SOON = { timeout: 20_000 };
/** Time for a round that should not be. */
const rest = () => new Promise((resolve) => setTimeout(resolve, 100));

test('an entry takes a thousand keys, and a tick brings as many as a backlog needs, but four', async () => {
  const { expiry, proposed } = await backlogOf(4_700);
  expect(proposed).toEqual([]);
  expiry.tick();
  await expect.poll(() => proposed.length, SOON).toBe(4);
  await rest();
  expect(proposed).toEqual([1_000, 1_000, 1_000, 1_000]);
  expiry.tick();
  await expect.poll(() => proposed.slice(4), SOON).toEqual([700]);
  expiry.tick();
  await rest();
  expect(proposed.length).toBe(5);
});

test('nobody walks over the entries of keys that have gone, again and again', async () => {
  const { expiry, proposed, looks } = await backlogOf(2_500);
  expiry.tick();
  await expect.poll(() => proposed.length, SOON).toBe(3);
  await rest();
  const ofKeys = looks.filter((gte) => gte[0] === tags.expiry && gte.readUIntBE(3, 6) <= 50);
  const fromTheBeginning = ofKeys.filter((gte) => gte.length === 9);
  // one when it comes to lead, which finds the first
  expect([fromTheBeginning.length, ofKeys.length > 20]).toEqual([1, true]);
});

test('an entry with long keys has fewer', async () => {
  const keyBytes = 8_192;
  const { expiry, proposed } = await backlogOf(400, keyBytes);
  expiry.tick();
  await expect.poll(() => proposed.reduce((sum, one) => sum + one, 0), SOON).toBe(400);
  const fit = limits.rangeSliceBytes / keyBytes;
  expect(Math.max(...proposed)).toBeLessThanOrEqual(2 * fit);
});

test('a read begins one round of a backlog where nothing is deleted unread', async () => {
  const { expiry, proposed } = await backlogOf(2_500, 1, false);
  expect(expiry.settled(101)).toBe(true);
  expiry.onApplied(60, false);
  expect(expiry.settled(101)).toBe(false);
  await expect.poll(() => proposed.length, SOON).toBe(1);
  await rest();
  expect(proposed).toEqual([1_000]);
});

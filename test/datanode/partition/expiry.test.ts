import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../../src/common/log.ts';
import { encodeExpiryKey } from '../../../src/datanode/encoding/key.ts';
import { Txn } from '../../../src/datanode/encoding/txn.ts';
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

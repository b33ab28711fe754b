/** XGROUP DESTROY and DELCONSUMER where much is pending. */
import { expect, test } from 'vitest';
import { streamIdAt } from '../../../../src/datanode/encoding/records/stream-id.ts';
import {
  type OpenStream,
  openStream,
  saveStream,
} from '../../../../src/datanode/encoding/streams/stream.ts';
import { appendEntry } from '../../../../src/datanode/encoding/streams/stream-entries.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

const PENDING = 17_000;

/** So many entries were given to `c`, and trimmed since but for the last three; `d` has one. */
async function scene() {
  const partition = await LonePartition.open();
  const call = async (line: string) => replyText(await partition.call(...line.split(' ')));
  await call('XGROUP CREATE s g 0 MKSTREAM');
  await call('XGROUP CREATE s other 0-17000');
  await addEntries(partition);
  await call('XREADGROUP GROUP g c STREAMS s >');
  await call('XADD s 1-1 f v');
  await call('XREADGROUP GROUP g d STREAMS s >');
  await call('XREADGROUP GROUP other o STREAMS s >');
  await call('XTRIM s MAXLEN 3');
  await call('PEXPIREAT s 1800000000000');
  let changes = 0;
  const write = partition.engine.write.bind(partition.engine);
  partition.engine.write = (operations) => {
    changes = operations.length;
    return write(operations);
  };
  return { call, changes: () => changes };
}

/** In one batch: as many calls take a minute on a busy machine. */
async function addEntries({ engine, nowMs }: LonePartition): Promise<void> {
  const txn = new Txn(engine);
  const stream = openStream(txn, Buffer.from('s'), nowMs) as OpenStream;
  const fields = [Buffer.from('f'), Buffer.from('v')];
  for (let at = 1; at <= PENDING; at++) appendEntry(txn, stream, streamIdAt(0, at), fields);
  saveStream(txn, stream);
  await engine.write(txn.operations());
}

test.each([
  ['XGROUP DELCONSUMER s g c', `(integer) ${PENDING}`, ['0-17000', '1-1', '"d"']],
  ['XGROUP DESTROY s g', '(integer) 1', ['NOGROUP']],
])('%s', async (line, answer, left) => {
  const { call, changes } = await scene();
  expect(await call(line)).toBe(answer);
  // what stays is put down anew
  if (line.includes('DESTROY')) expect(changes()).toBeLessThan(50);
  expect(await call('XLEN s')).toBe('(integer) 3');
  expect(await call('XRANGE s - +')).toContain('"0-16999"');
  expect(await call('PEXPIRETIME s')).toBe('(integer) 1800000000000');
  expect(await call('XPENDING s other - + 10 o')).toContain('"1-1"');
  const pending = await call('XPENDING s g - + 10');
  for (const part of left.filter((text) => text !== '0-17000')) expect(pending).toContain(part);
  expect(pending).not.toContain('0-1');
  if (left.length > 1) {
    expect(await call('XINFO GROUPS s')).toMatch(/"consumers"\n\s*-\n\s*\(integer\) 1/);
    expect(await call('XACK s g 1-1')).toBe('(integer) 1');
    expect(await call('XREADGROUP GROUP g d STREAMS s 0')).not.toContain('1-1');
  }
});

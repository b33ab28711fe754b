import { expect, test } from 'vitest';
import { commandTable, resolveCommand } from '../../../src/datanode/commands/table/table.ts';
import { isPointRead, pointReads } from '../../../src/datanode/routing/point-reads.ts';
import { answersShortly, shortWrites } from '../../../src/datanode/routing/short-writes.ts';

const words = (line: string) => line.split(' ').map((word) => Buffer.from(word));

test('are writes of the table', () => {
  for (const name of shortWrites) {
    expect(resolveCommand(words(`${name} a b c d e`))?.kind, name).toBe('write');
  }
});

/** Of these the reply may be large, or the work long, or they may not share a batch with anything. */
const byThemselves = [
  ...['getset', 'getdel', 'getex', 'hgetdel', 'hgetex', 'eval', 'evalsha', 'fcall'],
  ...['lpop', 'rpop', 'lmove', 'rpoplpush', 'lmpop', 'blpop', 'brpop', 'blmove', 'brpoplpush'],
  ...['blmpop', 'spop', 'zpopmin', 'zpopmax', 'zmpop', 'bzpopmin', 'bzpopmax', 'bzmpop'],
  ...['xreadgroup', 'xautoclaim', 'xclaim', 'georadius', 'georadiusbymember', 'sort'],
  ...['sinterstore', 'sunionstore', 'sdiffstore', 'zunionstore', 'zinterstore', 'zdiffstore'],
  ...['zrangestore', 'geosearchstore', 'bitop', 'rename', 'renamenx', 'copy', 'zan.clear'],
  ...['restore', 'restore-asking', 'flushall', 'flushdb', 'exec', 'watch', 'kv.once'],
  ...['json.numincrby', 'json.nummultby', 'json.strappend', 'json.toggle', 'json.arrappend'],
  ...['json.arrinsert', 'json.arrpop', 'json.arrtrim'],
];

test('every write of the table is one, or known to go by itself', () => {
  const writes = [...commandTable].filter(([, { kind }]) => kind === 'write');
  const names = writes.map(([name]) => name);
  expect([...shortWrites, ...byThemselves].toSorted()).toEqual(names.toSorted());
});

test('SET that answers what was there is none, however it is written', () => {
  expect(answersShortly(words('SeT a b EX 10'))).toBe(true);
  expect(answersShortly(words('SET get get'))).toBe(true);
  expect(answersShortly(words('XADD s * field value'))).toBe(true);
  expect(answersShortly(words('SET a b NX GeT'))).toBe(false);
  for (const line of ['LPOP l', 'GETDEL a', 'SPOP s', 'KV.ONCE s 1 1 SET a b', 'EXEC t 1 b']) {
    expect(answersShortly(words(line)), line).toBe(false);
  }
});

test('reads of points are reads of the table, and none that is one of a single key', () => {
  for (const name of pointReads) {
    const command = resolveCommand(words(`${name} a b`));
    expect([command?.kind, command?.kind === 'read' && command.singlePoint], name).toEqual([
      'read',
      undefined,
    ]);
  }
  expect(isPointRead(words('hGeT a b'))).toBe(true);
  for (const line of ['HGETALL a', 'SMEMBERS s', 'SET a b']) {
    expect(isPointRead(words(line)), line).toBe(false);
  }
});

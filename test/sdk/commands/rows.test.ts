/** The SDK finds the keys that the datanodes' command table finds. */
import { expect, test } from 'vitest';
import { keysOf } from '../../../src/datanode/commands/rows/command.ts';
import { commandTable, resolveCommand } from '../../../src/datanode/commands/table/table.ts';
import { bytesOf, keyPositions, rowsByName } from '../../../src/sdk/key-places.ts';
import { aboutAllKeys } from '../../../src/sdk/refusals.ts';

const lines = `
set k v EX 5
mset a 1 b 2 c 3
mget a b c
lcs a b LEN
blpop a b c 0
blmove a b LEFT RIGHT 0
lmpop 2 a b LEFT
blmpop 0 2 a b LEFT COUNT 2
bzmpop 0 3 a b c MIN
sintercard 2 a b LIMIT 1
zunion 2 a b WEIGHTS 1 2
zunionstore d 2 a b WEIGHTS 1 2
zdiffstore d 1 a
bitop AND d a b
georadius k 1 1 5 KM
georadius k 1 1 5 KM STORE d
georadiusbymember k m 5 KM STOREDIST d
sort k
sort k BY p LIMIT 0 5 ALPHA STORE d
rename a b
xadd k * f v
xread STREAMS k 0
xread COUNT 1 block 0 streams a b c 0 0 $
xread COUNT 1 STREAMS streams 0
xread STREAMS a b STREAMS 0 0 0
xreadgroup GROUP g c STREAMS k >
xreadgroup GROUP STREAMS STREAMS NOACK STREAMS a b > >
xreadgroup COUNT 2 GROUP g STREAMS STREAMS k >
xread STREAMS
xread STREAMS k
xgroup CREATE k g $
xinfo GROUPS k
object ENCODING k
memory USAGE k
pfcount a b
dbsize
ping
scan 0
`
  .trim()
  .split('\n')
  .map((line) => line.split(' '));

test.each(lines.map((line) => [line.join(' '), line] as const))('%s', (_text, line) => {
  const name = line[0]!;
  const args = line.map((one) => Buffer.from(one));
  const expected = keysOf(resolveCommand(args)!, args).map(String);
  const found = keyPositions(rowsByName.get(name)!, line).map((at) => String(bytesOf(line[at]!)));
  expect(found).toEqual(expected);
});

test('every command of the table is known, and of its kind', () => {
  expect([...rowsByName.keys()]).toEqual([...commandTable.keys()]);
  for (const [name, row] of commandTable) {
    const kind = rowsByName.get(name)?.kind;
    if (row.kind === 'write' && kind !== 'connection') {
      const waits = row.flags.includes('blocking') && rowsByName.get(name)?.waitWord === undefined;
      expect(kind, name).toBe(waits ? 'blocking' : 'write');
    }
    if (kind === 'read') expect(row.flags, name).not.toContain('write');
  }
});

test('commands about all keys are those that the datanodes ask all partitions', () => {
  const all = [...commandTable.values()].flatMap((row) => [row, ...(row.subcommands ?? [])]);
  const fanned = all.filter((row) => 'fanOut' in row && row.fanOut?.over === 'partitions');
  const names = fanned.map(({ name }) => name.replace('|', ' '));
  const sendable = names.filter((name) => rowsByName.get(name)?.kind !== 'connection');
  expect([...aboutAllKeys].sort()).toEqual(sendable.sort());
});

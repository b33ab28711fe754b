import { describe, expect, test } from 'vitest';
import { commandTable } from '../../../src/datanode/commands/table/table.ts';
import { nodeCommands, tableScans, translations } from '../../../src/datanode/zan/names.ts';
import { parseRequest } from '../../../src/datanode/zan/request.ts';

const words = (line: string) => line.split(' ').map((word) => Buffer.from(word.replace('""', '')));
const parse = (line: string) => parseRequest(words(line));

function shown(line: string): string {
  const request = parse(line);
  if (request.kind === 'wrong') return `! ${request.text}`;
  if (request.kind === 'node') return `node ${request.command.name}`;
  const text = (one: readonly Buffer[]) => one.map((word) => word.toString() || '""').join(' ');
  if (request.kind === 'keyed') return `${request.namespace}> ${text(request.line)}`;
  const asked = text(request.lineFrom(Buffer.from('PLACE'), 7));
  return `${request.namespace}> ${asked} from ${request.cursor.toString() || '""'} of ${request.count}`;
}

describe('a request', () => {
  test.each([
    ['get n:t:k', 'n> get t:k'],
    ['GetNoLock n:t:k', 'n> GET t:k'],
    ['stale.get n:t:k', 'n> GET t:k'],
    ['set n:t:k v', 'n> ZAN.SET t:k v'],
    ['set n:t:k v nx ex 5', 'n> ZAN.SET t:k v nx ex 5'],
    ['setex n:t:k 5 v', 'n> ZAN.SET t:k v EX 5'],
    ['setifeq n:t:k a b ex 5', 'n> setifeq t:k a b ex 5'],
    ['delifeq n:t:k a', 'n> delifeq t:k a'],
    ['plset n:t:a 1 n:t:b 2', 'n> plset t:a 1 t:b 2'],
    ['mget n:t:a n:t2:b', 'n> mget t:a t2:b'],
    ['del n:t:a n:t:b', 'n> ZAN.CLEAR KV t:a t:b'],
    ['exists n:t:a n:t:b', 'n> ZAN.EXISTS KV t:a t:b'],
    ['ttl n:t:k', 'n> ZAN.TTL KV t:k'],
    ['expire n:t:k 5', 'n> ZAN.EXPIRE KV t:k 5'],
    ['persist n:t:k', 'n> ZAN.PERSIST KV t:k'],
    ['setbitv2 n:t:k 5 1', 'n> SETBIT t:k 5 1'],
    ['bitclear n:t:k', 'n> ZAN.CLEAR KV t:k'],
    ['bkeyexist n:t:k', 'n> ZAN.EXISTS KV t:k'],
    ['bttl n:t:k', 'n> ZAN.TTL KV t:k'],
    ['bexpire n:t:k 5', 'n> ZAN.EXPIRE KV t:k 5'],
    ['bpersist n:t:k', 'n> ZAN.PERSIST KV t:k'],
    ['hexpire n:t:k 5', 'n> ZAN.EXPIRE HASH t:k 5'],
    ['httl n:t:k', 'n> ZAN.TTL HASH t:k'],
    ['hpersist n:t:k', 'n> ZAN.PERSIST HASH t:k'],
    ['hclear n:t:k', 'n> ZAN.CLEAR HASH t:k'],
    ['hkeyexist n:t:k', 'n> ZAN.EXISTS HASH t:k'],
    ['lclear n:t:k', 'n> ZAN.CLEAR LIST t:k'],
    ['lkeyexist n:t:k', 'n> ZAN.EXISTS LIST t:k'],
    ['sclear n:t:k', 'n> ZAN.CLEAR SET t:k'],
    ['sttl n:t:k', 'n> ZAN.TTL SET t:k'],
    ['zclear n:t:k', 'n> ZAN.CLEAR ZSET t:k'],
    ['zexpire n:t:k 5', 'n> ZAN.EXPIRE ZSET t:k 5'],
    ['hscan n:t:k ""', 'n> ZAN.ELEMENTS HASH t:k ""'],
    ['hscan n:t:k', 'n> ZAN.ELEMENTS HASH t:k ""'],
    ['hrevscan n:t:k f count 5', 'n> ZAN.ELEMENTS HASH t:k f REV count 5'],
    ['sscan n:t:k "" match a* count 5', 'n> ZAN.ELEMENTS SET t:k "" match a* count 5'],
    ['srevscan n:t:k ""', 'n> ZAN.ELEMENTS SET t:k "" REV'],
    ['zscan n:t:k ""', 'n> ZAN.ELEMENTS ZSET t:k ""'],
    ['zrevscan n:t:k m', 'n> ZAN.ELEMENTS ZSET t:k m REV'],
    ['srandmember n:t:k', 'n> srandmember t:k 1'],
    ['srandmember n:t:k 3', 'n> srandmember t:k 3'],
    ['georadius n:t:k 1 2 3 m', 'n> GEORADIUS_RO t:k 1 2 3 m'],
    ['georadiusbymember n:t:k a 3 m', 'n> GEORADIUSBYMEMBER_RO t:k a 3 m'],
    ['hset n:t:k f v', 'n> hset t:k f v'],
    ['zrangebyscore n:t:k 1 2 withscores', 'n> zrangebyscore t:k 1 2 withscores'],
    ['decr n:t:k', 'n> decr t:k'],
    ['scan n:t:', 'n> ZAN.SCAN KV t PLACE COUNT 7 from "" of 100'],
    ['scan n:t:abcd KV count 30', 'n> ZAN.SCAN KV t PLACE COUNT 7 from abcd of 30'],
    [
      'revscan n:t: match a* count 9000',
      'n> ZAN.SCAN KV t PLACE REV match a* COUNT 7 from "" of 5000',
    ],
    ['advscan n:t: hash count 0', 'n> ZAN.SCAN hash t PLACE COUNT 7 from "" of 100'],
    ['advrevscan n:t: ZSET', 'n> ZAN.SCAN ZSET t PLACE REV COUNT 7 from "" of 100'],
    ['fullscan n:t: LIST count 5', 'n> ZAN.FULLSCAN LIST t PLACE COUNT 7 from "" of 5'],
    ['ping', 'node ping'],
    ['auth secret', 'node auth'],
    ['client id', 'node client|id'],
  ])('%s', (line, meant) => {
    expect(shown(line)).toBe(meant);
  });

  test.each([
    ['nosuch n:t:k', 'invalid command'],
    ['json.get n:t:k', 'invalid command'],
    ['flushall', 'invalid command'],
    ['keys *', 'invalid command'],
    ['multi', 'invalid command'],
    ['eval x 0', 'invalid command'],
    ['blpop n:t:k 0', 'invalid command'],
    ['object encoding n:t:k', 'invalid command'],
    ['sintercard 1 n:t:k', 'invalid command'],
    ['sort_ro n:t:k by n:t:w* get n:t:v*', 'invalid command'],
    ['sort_ro n:t:k', 'invalid command'],
    ['get k', 'invalid redis key'],
    ['get n:k', 'invalid table name'],
    ['mget n:t:a m:t:b', 'invalid arguments'],
    ['del n:t:a k', 'invalid redis key'],
    ['get', "ERR wrong number of arguments for 'get' command"],
    ['hclear n:t:a n:t:b', "ERR wrong number of arguments for 'hclear' command"],
    ['hexpire n:t:a', "ERR wrong number of arguments for 'hexpire' command"],
    ['hscan', "ERR wrong number of arguments for 'hscan' command"],
    ['scan', "ERR wrong number of arguments for 'scan' command"],
    ['scan x', 'invalid redis key'],
    ['scan n:t', 'invalid table name'],
    ['advscan n:t:', 'invalid arguments'],
    ['advscan n:t: STREAM', 'invalid arguments'],
    ['scan n:t: count', 'invalid arguments'],
    ['scan n:t: count x', 'invalid arguments'],
    ['scan n:t: what 1', 'invalid arguments'],
  ])('%s is wrong: %s', (line, problem) => {
    expect(shown(line)).toBe(`! ${problem}`);
  });
});

test('every name leads to a row of the command table, which takes what it is given', () => {
  const key = Buffer.from('n:t:k');
  for (const [name, { arity }] of translations) {
    const count = Math.abs(arity) - 2;
    const args = [Buffer.from(name), key, ...Array<Buffer>(count).fill(Buffer.from('1'))];
    if (name.startsWith('georadius')) args[args.length - 1] = Buffer.from('m');
    const request = parseRequest(args);
    expect(request.kind, name).toBe('keyed');
    if (request.kind !== 'keyed') continue;
    const { command, line } = request;
    expect(command.arity > 0 ? line.length === command.arity : line.length >= -command.arity).toBe(
      true,
    );
    expect(command.prepare(line).ok, name).toBe(true);
  }
  for (const { row } of tableScans.values()) expect(commandTable.has(row.toLowerCase())).toBe(true);
  for (const name of nodeCommands) expect(commandTable.get(name)?.kind).toBe('node');
});

/**
 * Writes whose replies are short, whatever they find. Those of a forwarded batch are kept together for
 * whoever asks again, up to a bound (`limits.sessionBatchBytesMax`): one that gives data back could
 * push out what another connection was answered, and what it took would be lost to both.
 */
import type { CommandLine } from '../partition/entries/batch.ts';

export const shortWrites: ReadonlySet<string> = new Set([
  ...['set', 'setnx', 'setex', 'psetex', 'mset', 'msetnx', 'msetex', 'append', 'setrange'],
  ...['setbit', 'bitfield', 'pfadd', 'pfmerge'],
  ...['incr', 'incrby', 'incrbyfloat', 'decr', 'decrby'],
  ...['del', 'delex', 'unlink', 'persist', 'expire', 'pexpire', 'expireat', 'pexpireat'],
  ...['lpush', 'rpush', 'lpushx', 'rpushx', 'linsert', 'lset', 'lrem', 'ltrim'],
  ...['sadd', 'srem', 'smove'],
  ...['hset', 'hsetex', 'hmset', 'hsetnx', 'hdel', 'hincrby', 'hincrbyfloat'],
  ...['hexpire', 'hpexpire', 'hexpireat', 'hpexpireat', 'hpersist'],
  ...['zadd', 'zincrby', 'zrem', 'zremrangebyscore', 'zremrangebyrank', 'zremrangebylex', 'geoadd'],
  ...['xadd', 'xdel', 'xtrim', 'xsetid', 'xack', 'xdelex', 'xackdel'],
  ...['json.set', 'json.mset', 'json.merge', 'json.del', 'json.forget', 'json.clear'],
  ...['zan.set', 'zan.expire', 'zan.persist', 'setifeq', 'delifeq', 'plset'],
]);

export function answersShortly(line: CommandLine): boolean {
  return isShortWrite(wordOf(line[0]!), line);
}

/** Of the command `name`, in lower case. `SET … GET` answers what was there before. */
export function isShortWrite(name: string, line: CommandLine): boolean {
  if (!shortWrites.has(name)) return false;
  return name !== 'set' || !line.some((word, at) => at > 2 && wordOf(word) === 'get');
}

/** In lower case; empty: it is longer than any of a command. */
export function wordOf(word: Buffer): string {
  return word.length > 16 ? '' : word.toString('latin1').toLowerCase();
}

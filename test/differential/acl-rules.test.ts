/**
 * Rules of users in any number and order, to the doors of a node and to a stock redis-server: which
 * of them are taken, and what a user with them may then do (ACL DRYRUN), byte for byte.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aclCategories } from '../../src/datanode/commands/docs/command-docs.ts';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { openDoors } from '../datanode/server/doors.ts';
import { scale } from '../scale.ts';
import { besideRedis, Pair } from './beside-redis.ts';
import { compareSequences, SEQUENCES_TIMEOUT_MS } from './sequences.ts';

const sign = fc.constantFrom('+', '-');
const category = fc.constantFrom(...aclCategories, 'all', 'nosuch', '');
/** Of each kind that is judged otherwise; what only Redis has, what there is not, what is cut short. */
const name = fc.constantFrom(
  ...['get', 'GET', 'set', 'mget', 'getex', 'bitfield', 'copy', 'sort', 'sort_ro', 'blpop'],
  ...['georadius', 'lmpop', 'flushall', 'keys', 'scan', 'ping', 'multi', 'auth', 'hello'],
  ...['publish', 'subscribe', 'spublish', 'ssubscribe', 'config', 'config|get', 'CONFIG|set'],
  ...['client', 'client|kill', 'acl|whoami', 'object|encoding', 'memory', 'command|docs'],
  ...['select|0', 'get|k1', 'eval', 'xadd', 'script|load', 'xinfo|stream'],
  ...['nosuch', 'config|nosuch', 'get|', 'config|', '|get', '', 'config|get|x', 'get|a|b'],
);
const access = fc.constantFrom('~', '~', '%R~', '%W~', '%wr~', '%', '%RR~', '%~');
/** Not the star: what may read all and write all is one rule here (exceptions.ts). */
const pattern = fc.constantFrom('k*', 'k1', 'k?', '[ab]1', 'k1*', 'a*', '{k}*', '', '\\k1');
const channel = fc.constantFrom('c*', '*', 'c1', 'd?', '');
const plain = fc.constantFrom(
  ...['allkeys', 'resetkeys', 'allchannels', 'resetchannels', 'allcommands', 'nocommands'],
  ...['~*', 'clearselectors', 'ON', 'off', 'nopass', 'reset', 'nonsense', '()', '(~a'],
);
const joined = (...parts: readonly fc.Arbitrary<string>[]) =>
  fc.tuple(...parts).map((texts) => texts.join(''));

const ofSelector = fc.oneof(
  { weight: 5, arbitrary: joined(sign, fc.constant('@'), category) },
  { weight: 6, arbitrary: joined(sign, name) },
  { weight: 4, arbitrary: joined(access, pattern) },
  { weight: 2, arbitrary: joined(fc.constant('&'), channel) },
  fc.constantFrom('allkeys', '~*', 'allchannels', 'resetkeys'),
);
const selector = fc
  .array(ofSelector, { minLength: 1, maxLength: 4 })
  .map((rules) => `(${rules.join(' ')})`);
const rule = fc.oneof(
  { weight: 12, arbitrary: ofSelector },
  { weight: 3, arbitrary: selector },
  { weight: 2, arbitrary: plain },
);

const key = fc.constantFrom('k1', 'k2', 'a1', 'b1', '{k}1', 'zz', '\\k1');
const heard = fc.constantFrom('c1', 'd1', 'c*', 'x');
/** K stands for a key, C for a channel. */
const template = fc.constantFrom(
  ...['GET K', 'SET K v', 'SET K v GET', 'MGET K K', 'MSET K 1 K 2', 'GETEX K', 'GETEX K PERSIST'],
  ...['BITFIELD K GET u8 0', 'BITFIELD K SET u8 0 1', 'BITFIELD_RO K GET u8 0', 'COPY K K'],
  ...['RENAME K K', 'DEL K K', 'SORT K', 'SORT K STORE K', 'SORT K BY w_* GET #', 'SORT_RO K'],
  ...['GEORADIUS K 1 1 1 m', 'GEORADIUS K 1 1 1 m STORE K', 'ZRANGESTORE K K 0 1'],
  ...['BITOP AND K K K', 'PFMERGE K K', 'PFCOUNT K K', 'LMPOP 2 K K LEFT', 'BLPOP K K 0'],
  ...['SINTERCARD 1 K', 'ZUNIONSTORE K 1 K', 'WATCH K', 'TYPE K', 'DUMP K', 'OBJECT ENCODING K'],
  ...['MEMORY USAGE K', 'CONFIG GET x', 'config SET x y', 'CLIENT LIST', 'CLIENT KILL x'],
  ...['ACL WHOAMI', 'ACL SETUSER x', 'PING', 'MULTI', 'EXEC', 'AUTH x', 'HELLO', 'SELECT 0'],
  ...['SELECT 1', 'FLUSHALL', 'KEYS *', 'SCAN 0', 'DBSIZE', 'INFO', 'COMMAND', 'COMMAND DOCS'],
  ...['PUBLISH C m', 'SPUBLISH C m', 'SUBSCRIBE C C', 'PSUBSCRIBE C', 'SSUBSCRIBE C', 'MONITOR'],
  ...['UNSUBSCRIBE C', 'GET', 'NOSUCH K'],
);
const line = fc
  .tuple(template, fc.array(key, { minLength: 3, maxLength: 3 }), fc.tuple(heard, heard))
  .map(([text, keys, channels]) => {
    const names = { K: [...keys], C: [...channels] };
    return text.split(' ').map((word) => names[word as 'K' | 'C']?.shift() ?? word);
  });

const step = fc.oneof(
  fc.array(rule, { minLength: 1, maxLength: 5 }).map((rules) => ['SETUSER', 'bob', ...rules]),
  { weight: 6, arbitrary: line.map((words) => ['DRYRUN', 'bob', ...words]) },
);

describe.skipIf(!hasRedis)('rules that let a user do what they do beside redis-server', () => {
  const servers = besideRedis(openDoors);

  test(
    'in any order',
    async () => {
      const pair = await Pair.connect(servers, 2);
      await compareSequences('rules of users', step, scale.differentialCommands, async (steps) => {
        await pair.ask(['ACL', 'DELUSER', 'bob']);
        await pair.ask(['ACL', 'SETUSER', 'bob']);
        for (const words of steps) {
          const [ours, theirs] = await pair.ask(['ACL', ...words]);
          expect(`${ours}`, words.join(' ')).toBe(`${theirs}`);
        }
        return steps.length;
      });
      pair.close();
    },
    SEQUENCES_TIMEOUT_MS,
  );
});

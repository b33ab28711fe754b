/**
 * Which arguments are keys, and what a command does with them, in the whole of the syntax that
 * redis-server documents: COMMAND GETKEYS and GETKEYSANDFLAGS, byte for byte. Routes and rights go
 * by the same.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commandTable } from '../../src/datanode/commands/table/table.ts';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { openDoors } from '../datanode/server/doors.ts';
import { scale } from '../scale.ts';
import { besideRedis, Pair } from './beside-redis.ts';
import { compareSequences, SEQUENCES_TIMEOUT_MS } from './sequences.ts';
import { linesOf, readSyntax, type Vocabulary } from './syntax.ts';

const documented = hasRedis ? await readSyntax() : [];
const names = new Set(
  [...commandTable.values()].flatMap(({ name, subcommands = [] }) => [
    name,
    ...subcommands.map((row) => row.name),
  ]),
);
/** DEBUG has no subcommands in 7.0, ZRANK no WITHSCORE; of a wrong BITFIELD it says that it writes. */
const other = /^(?:debug|zrank|zrevrank|bitfield$)/;
const compared = documented.filter((syntax) => names.has(syntax.name) && !other.test(syntax.name));

/** None is a word: 7.0 takes what stands behind a key `store` for the key that SORT stores in. */
const key = fc.constantFrom('k1', 'k2', '{k}3', '', 'ÿ', '1');
const number = fc.constantFrom('1', '2', '0', '-1', 'x', '');
const text = fc.constantFrom('a', 'b', '*', 'w_*', '', 'u8');
const vocabulary: Vocabulary = ({ type }) => {
  if (type === 'key') return key;
  return /integer|double|unix-time/.test(type) ? number : text;
};

/** What is stored twice is read otherwise in 7.0 by SORT and by who asks for its keys. */
const stores = (words: readonly string[]) => words.filter((word) => /^store/i.test(word)).length;

/** Of a malformed XREAD 7.0 takes half of what stands behind STREAMS for keys, before it refuses it. */
const optionWords: Readonly<Record<string, number>> = { block: 2, count: 2, group: 3, noack: 1 };
const isReadable = (words: readonly string[]): boolean => {
  if (!/^xread/i.test(words[0]!)) return true;
  let at = 1;
  for (let more = 0; at < words.length; at += more) {
    more = optionWords[words[at]!.toLowerCase()] ?? 0;
    if (more === 0) break;
  }
  const behind = words.length - at - 1;
  return /^streams$/i.test(words[at] ?? '') && behind > 0 && behind % 2 === 0;
};

const line = fc
  .oneof(...compared.map((syntax) => linesOf(syntax, vocabulary)))
  // 7.0 wants one argument at least behind the command, and two behind PFMERGE; 1.5 is 1 to it
  .filter((words) => words.length > (words[0] === 'pfmerge' ? 2 : 1) && !words.includes('1.5'))
  .filter((words) => stores(words) < 2 && isReadable(words));
const step = fc.tuple(fc.constantFrom('GETKEYS', 'GETKEYSANDFLAGS'), line);

describe.skipIf(!hasRedis)('keys as redis-server finds them', () => {
  const servers = besideRedis(openDoors);

  test(
    'in lines of every command',
    async () => {
      expect(compared.length).toBeGreaterThan(150);
      const pair = await Pair.connect(servers, 2);
      const wanted = scale.differentialCommands;
      await compareSequences('keys of commands', step, wanted, async (steps) => {
        for (const [asked, words] of steps) {
          const [ours, theirs] = await pair.ask(['COMMAND', asked, ...words]);
          expect(`${ours}`, words.join(' ')).toBe(`${theirs}`);
        }
        return steps.length;
      });
      pair.close();
    },
    SEQUENCES_TIMEOUT_MS,
  );
});

/**
 * What a load asks: tests of redis-benchmark, and commands for which it has none. With --cluster the
 * tool puts the tag of a node in place of `{tag}`; without, it leaves that as it stands.
 */

interface Test {
  /** At the end of the tool's command line. */
  readonly words: readonly string[];
  /** The name in its table. */
  readonly row: string;
  /** Commands to run before it at every node; running them again changes nothing. */
  readonly prepare?: (valueBytes: number) => readonly (readonly string[])[];
}

const ELEMENTS = 100;
const LIST = 'bench:list:{tag}';
const HASH = 'bench:hash:{tag}';
const ZSET = 'bench:zset:{tag}';

const builtIn = (option: string, row = option.toUpperCase()): Test => ({
  words: ['-t', option],
  row,
});

const command = (words: readonly string[], prepare: Test['prepare']): Test => ({
  words,
  row: words.join(' '),
  ...(prepare && { prepare }),
});

/** The words of all elements; `each` gives those of one, whose value has `valueBytes` bytes. */
function elements(valueBytes: number, each: (at: string, value: string) => readonly string[]) {
  return Array.from({ length: ELEMENTS }, (_, at) =>
    each(String(at), String(at).padEnd(valueBytes, 'x')),
  ).flat();
}

const fillZset = (valueBytes: number) => [
  'ZADD',
  ZSET,
  ...elements(valueBytes, (at, value) => [at, value]),
];

export const tests = {
  GET: builtIn('get'),
  SET: builtIn('set'),
  INCR: builtIn('incr'),
  LPUSH: builtIn('lpush'),
  LPOP: builtIn('lpop'),
  SADD: builtIn('sadd'),
  HSET: builtIn('hset'),
  ZADD: builtIn('zadd'),
  'MSET (10)': builtIn('mset', 'MSET (10 keys)'),
  LRANGE_100: command(['LRANGE', LIST, '0', '-1'], (valueBytes) => [
    fillZset(valueBytes),
    // unlike RPUSH it leaves 100 elements however often it is run
    ['SORT', ZSET, 'BY', 'nosort', 'STORE', LIST],
  ]),
  HGETALL_100: command(['HGETALL', HASH], (valueBytes) => [
    ['HSET', HASH, ...elements(valueBytes, (at, value) => [`field:${at}`, value])],
  ]),
  ZRANGE_100: command(['ZRANGE', ZSET, '0', '-1'], (valueBytes) => [fillZset(valueBytes)]),
} as const satisfies Record<string, Test>;

export type TestName = keyof typeof tests;

/** `tests`, as what all of them have. */
export function testOf(name: TestName): Test {
  return tests[name];
}

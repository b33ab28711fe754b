/**
 * Libraries that are loaded, replaced and deleted, and calls of their functions, against a stock redis-server:
 * what is said of them is the same, errors included.
 */
import fc from 'fast-check';
import { differential, exact } from './differential.ts';
import { words } from './words.ts';

const of = (...texts: readonly string[]) => fc.constantFrom(...texts);
const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });

const name = of('f', 'g', 'F', 'h_2', 'f-g', '', '7');
const body = of(
  'return {#keys, #args, keys[1] or false, args[1] or false}',
  "return redis.call('SET', keys[1], args[1])",
  "return redis.call('GET', keys[1])",
  "return redis.pcall('INCR', keys[1])",
  "redis.call('LPUSH', keys[1], 'x') error({err = 'OWN text'})",
  "error('plain')",
  'error()',
  'return helper(args[1])',
  'return shared.x',
  'return KEYS[1]',
  "x = 1 return 'never'",
  "redis.register_function('late', function() end)",
  "redis.setresp(3) return redis.call('HGETALL', keys[1])",
  'return {map = {a = 1}, double = 1.5}',
  'return nil + 1',
  "local c = coroutine.wrap(function() error('in it') end) return c()",
  "return redis.status_reply('GOOD')",
);
const flags = of('', "'no-writes'", "'NO-writes', 'allow-oom'", "'allow-stale', 'x'", '{}', '1');
const start = of(
  '',
  '',
  '',
  'local t = nil .. 1',
  'y = 2',
  'local z = string',
  'x x',
  'local r = redis.call',
);

const registered = fc.oneof(
  often(
    3,
    fc.tuple(name, body).map(([own, does]) => `redis.register_function('${own}', fn(${does}))`),
  ),
  often(
    3,
    fc
      .tuple(name, body, flags, of('', "description = 'told',", 'description = {},', 'other = 1,'))
      .map(([own, does, flag, more]) => {
        const given = flag === '' ? '' : `flags = {${flag}},`;
        return `redis.register_function{function_name = '${own}', ${given} ${more} callback = fn(${does})}`;
      }),
  ),
  of(
    "redis.register_function('f')",
    'redis.register_function()',
    "redis.register_function('f', 1)",
  ),
);

const head = of(
  ...Array<string>(8).fill('#!lua name=a'),
  ...['#!LUA NAME=b', '#!lua name=b', '#!lua', 'lua name=a', '#!lua name=a b=c', '#!js name=a'],
  ...['#!lua name=a name=b', '#!lua name="a', "#!lua name='b'", '#!lua name=a-b'],
);
const BEFORE = 'local function helper(x) return x end local shared = {x = 1} ';
/** One function: which of several Redis lists first is its own to choose. */
const code = fc.tuple(head, start, registered).map(([first, does, own]) => {
  return `${first}\n${BEFORE}${does}\n${own.replace(/fn\((.*)\)(?=[)}]$)/, 'function(keys, args) $1 end')}`;
});

const called = of('f', 'g', 'F', 'h_2', '7', 'none', 'z');
const numkeys = of('0', '1', '1', '1', '2', '-1', 'x', '9');
const FIXED = "#!lua name=z\nredis.register_function('z', function(keys) return keys end)";

differential(
  'functions',
  fc.oneof(
    often(6, exact(code.map((text) => ['FUNCTION', 'LOAD', 'REPLACE', text]))),
    often(1, exact(words('FUNCTION', 'LOAD', FIXED))),
    often(
      10,
      exact(words(of('FCALL', 'FCALL', 'FCALL_RO'), called, numkeys, of('k', 'h'), of('v', '5'))),
    ),
    often(1, exact(words('FUNCTION', 'DELETE', of('a', 'b', 'z', 'A', 'none')))),
    often(
      2,
      exact(words('FUNCTION', 'LIST', 'LIBRARYNAME', of('a', 'B', '[ab', 'z', 'x*'), 'WITHCODE')),
    ),
    often(2, exact(words('FUNCTION', 'STATS'))),
    exact(words('FUNCTION', 'RESTORE', of('', 'x', '0123456789abc'), of('FLUSH', 'x'))),
    exact(words('FUNCTION', of('FLUSH', 'flush'), of('SYNC', 'ASYNC', 'x'))),
    exact(words('HSET', 'h', 'field', '1')),
    exact(words('GET', 'k')),
  ),
  0.3,
  ['FUNCTION FLUSH'],
);

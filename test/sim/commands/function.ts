/** Libraries of functions, and calls of these: all replicas of a partition run the same code, whoever loads another. */
import type { Arguments, Draw, Line } from './draw.ts';

/** What one build of the library does otherwise than the other. */
const library = (times: number) => `#!lua name=sim
local calls = 0
local function add(keys, args)
  for i = 1, ${times} do redis.call('incrby', keys[1], args[1]) end
  return redis.call('get', keys[1])
end
local function keep(keys, args)
  calls = calls + 1
  redis.call('rpush', keys[1], args[1], math.random(100) + ${times}, calls)
  return redis.call('ltrim', keys[1], -6, -1)
end
redis.register_function('add', add)
redis.register_function('keep', keep)
redis.register_function{
  function_name = 'look', flags = {'no-writes'},
  callback = function(keys) return {${times}, redis.call('type', keys[1])} end
}`;

/** Takes a name of the other one. */
const rival = `#!lua name=rival
redis.register_function('add', function(keys) return redis.call('incr', keys[1]) end)`;

export const functionCommands: Readonly<Record<string, Arguments>> = {
  fcall: (draw) =>
    draw.one<() => Line>([
      () => ['add', '1', draw.key('n'), draw.int(-9, 9)],
      () => ['keep', '1', draw.key('l'), draw.member()],
      () => ['look', '1', draw.anyKey()],
    ])(),
};

export const functionReads: Readonly<Record<string, Arguments>> = {
  fcall_ro: (draw) => [draw.one(['look', 'look', 'add']), '1', draw.anyKey()],
};

/** All partitions are asked; most have the library most of the time. */
export function drawLibraryChange(draw: Draw): Line {
  const change = draw.one<Line>([
    ...[1, 2, 1, 2].map((times) => ['LOAD', 'REPLACE', library(times)]),
    ['LOAD', library(1)],
    ['LOAD', 'REPLACE', rival],
    ['DELETE', draw.one(['sim', 'rival', 'rival'])],
    ['FLUSH'],
  ]);
  return ['FUNCTION', ...change];
}

/** Scripts: what they come to must not depend on the host, nor on who runs them when. */
import { createHash } from 'node:crypto';
import type { Arguments, Draw, Line } from './draw.ts';

interface Script {
  readonly body: string;
  /** `numkeys key … argument …` */
  readonly call: (draw: Draw) => Line;
}

const two = (draw: Draw, family: 'l' | 'n' | 's' | 'e' | 'h'): Line => [
  '2',
  draw.key(family),
  draw.key(family),
];

const writing: readonly Script[] = [
  {
    body: "return redis.call('incrby', KEYS[1], ARGV[1])",
    call: (draw) => ['1', draw.key('n'), draw.int(-9, 9)],
  },
  {
    // takes and gives as much, or nothing
    body: `local left = tonumber(redis.call('get', KEYS[1]) or 0)
      if left < 3 then return redis.error_reply('NOTENOUGH of them') end
      redis.call('decrby', KEYS[1], 3)
      return {redis.call('incrby', KEYS[2], 3), left}`,
    call: (draw) => two(draw, 'n'),
  },
  {
    body: `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
      return redis.call('set', KEYS[2], ARGV[1], 'px', ARGV[2])`,
    call: (draw) => [...two(draw, 's'), draw.value(), draw.int(20, 1_500)],
  },
  {
    body: `local moved = {}
      for i = 1, 4 do
        moved[i] = redis.call('lmove', KEYS[1], KEYS[2], 'left', i % 2 == 0 and 'left' or 'right')
      end
      return moved`,
    call: (draw) => two(draw, 'l'),
  },
  {
    // whatever a host might decide
    body: `local drawn = {}
      for i = 1, 5 do drawn[redis.call('srandmember', KEYS[1]) or i] = math.random(100) end
      for key, value in pairs(drawn) do redis.call('rpush', KEYS[2], key .. '=' .. value) end
      redis.call('rpush', KEYS[2], redis.call('time')[1], tostring({}), redis.sha1hex(KEYS[2]))
      return redis.call('ltrim', KEYS[2], -6, -1)`,
    call: (draw) => ['2', draw.key('e'), draw.key('l')],
  },
  {
    // what was written stays
    body: `redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
      redis.pcall('lpush', KEYS[1], 'no list')
      return redis.call('incr', KEYS[1])`,
    call: (draw) => ['1', draw.key('h'), draw.member(), draw.value()],
  },
];

const reading: readonly Script[] = [
  {
    body: `local all = redis.call('hgetall', KEYS[1])
      return {#all / 2, all[1], redis.call('hlen', KEYS[2])}`,
    call: (draw) => two(draw, 'h'),
  },
  {
    body: "return {redis.call('type', KEYS[1]), redis.pcall('get', KEYS[2]), redis.call('pttl', KEYS[1])}",
    call: (draw) => ['2', draw.anyKey(), draw.anyKey()],
  },
];

function shaOf(body: string): string {
  return createHash('sha1').update(body).digest('hex');
}

const evaluated =
  (scripts: readonly Script[]): Arguments =>
  (draw) => {
    const { body, call } = draw.one(scripts);
    return [body, ...call(draw)];
  };

/** Some that nobody has evaluated where it runs. */
const bySha =
  (scripts: readonly Script[]): Arguments =>
  (draw) => {
    const { body, call } = draw.one(scripts);
    return [shaOf(body), ...call(draw)];
  };

export const scriptCommands: Readonly<Record<string, Arguments>> = {
  eval: evaluated(writing),
  evalsha: bySha(writing),
};

export const scriptReads: Readonly<Record<string, Arguments>> = {
  eval_ro: evaluated(reading),
  evalsha_ro: bySha([...reading, ...writing]),
};

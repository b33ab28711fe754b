/** Lists. */
import type { Arguments, Draw } from './draw.ts';

const l = (draw: Draw) => draw.key('l');
const end = (draw: Draw) => draw.one(['LEFT', 'RIGHT']);
const push: Arguments = (draw) => [l(draw), ...draw.some(4, () => [draw.value()])];
const pop: Arguments = (draw) => [l(draw), ...draw.maybe(draw.int(0, 3))];

export const listCommands: Readonly<Record<string, Arguments>> = {
  lpush: push,
  rpush: push,
  lpushx: push,
  rpushx: push,
  lpop: pop,
  rpop: pop,
  lmove: (draw) => [l(draw), l(draw), end(draw), end(draw)],
  rpoplpush: (draw) => [l(draw), l(draw)],
  lmpop: (draw) => [...draw.counted('l'), end(draw), ...draw.maybe('COUNT', draw.int(1, 3))],
  lset: (draw) => [l(draw), draw.int(-4, 4), draw.value()],
  lrem: (draw) => [l(draw), draw.int(-2, 2), draw.value()],
  ltrim: (draw) => [l(draw), draw.int(-9, 2), draw.int(-3, 20)],
  blpop: (draw) => [...draw.some(2, () => [l(draw)]), draw.timeout()],
  brpop: (draw) => [...draw.some(2, () => [l(draw)]), draw.timeout()],
  blmove: (draw) => [l(draw), l(draw), end(draw), end(draw), draw.timeout()],
  brpoplpush: (draw) => [l(draw), l(draw), draw.timeout()],
  blmpop: (draw) => [draw.timeout(), ...draw.counted('l'), end(draw)],
  linsert: (draw) => [l(draw), draw.one(['BEFORE', 'AFTER']), draw.value(), draw.value()],
};

export const listReads: Readonly<Record<string, Arguments>> = {
  llen: (draw) => [l(draw)],
  lindex: (draw) => [l(draw), draw.int(-5, 5)],
  lrange: (draw) => [l(draw), draw.int(-9, 3), draw.int(-3, 20)],
  lpos: (draw) => [l(draw), draw.value(), ...draw.maybe('COUNT', draw.int(0, 3))],
};

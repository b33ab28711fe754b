/** Strings, their bits, and the sketches kept in them. */
import { deadline } from './deadline.ts';
import type { Arguments, Draw, Line } from './draw.ts';

const s = (draw: Draw) => draw.key('s');
const n = (draw: Draw) => draw.key('n');
const b = (draw: Draw) => draw.key('b');
const p = (draw: Draw) => draw.key('p');
const pair = (draw: Draw) => [draw.key('s'), draw.value()];
const ofString: Arguments = (draw) => [s(draw)];
const ofNumber: Arguments = (draw) => [n(draw)];

/** Of values that are drawn as well, and digests of nothing that is. */
function comparison(draw: Draw): Line {
  if (draw.chance(0.7)) return [draw.one(['IFEQ', 'IFNE']), draw.value()];
  return [draw.one(['IFDEQ', 'IFDNE']), draw.one(['2d06800538d394c2', '0123456789abcdef'])];
}

const field = (draw: Draw): Line => {
  const at = [draw.one(['u4', 'i8', 'u16', 'i5']), draw.one(['0', '3', '#1', '40'])];
  if (draw.chance(0.3)) return ['OVERFLOW', draw.one(['WRAP', 'SAT', 'FAIL'])];
  if (draw.chance(0.3)) return ['GET', ...at];
  return [draw.one(['SET', 'INCRBY']), ...at, draw.int(-20, 300)];
};

export const stringCommands: Readonly<Record<string, Arguments>> = {
  set: (draw) => [
    ...pair(draw),
    ...draw.one([[], [], [draw.one(['NX', 'XX'])], comparison(draw)]),
    ...draw.one([[], deadline(draw), ['KEEPTTL']]),
    ...draw.one([[], [], ['GET']]),
  ],
  setex: (draw) => [s(draw), draw.seconds(), draw.value()],
  psetex: (draw) => [s(draw), draw.milliseconds(), draw.value()],
  setnx: pair,
  getset: pair,
  delex: (draw) => [s(draw), ...draw.one([[], comparison(draw), comparison(draw)])],
  getdel: ofString,
  getex: (draw) => [s(draw), ...draw.one([[], ['PERSIST'], deadline(draw), deadline(draw)])],
  mset: (draw) => draw.some(3, () => pair(draw)),
  msetnx: (draw) => draw.some(2, () => pair(draw)),
  msetex: (draw) => {
    const pairs = draw.some(3, () => pair(draw));
    const options = [
      ...draw.one([[], ['NX'], ['XX']]),
      ...draw.one([[], deadline(draw), ['KEEPTTL']]),
    ];
    return [String(pairs.length / 2), ...pairs, ...options];
  },
  incr: ofNumber,
  decr: ofNumber,
  incrby: (draw) => [n(draw), draw.int(-50, 50)],
  decrby: (draw) => [n(draw), draw.int(-50, 50)],
  incrbyfloat: (draw) => [n(draw), draw.float()],
  append: pair,
  setrange: (draw) => [s(draw), draw.int(0, 90), draw.value()],
  setbit: (draw) => [b(draw), draw.int(0, 200), draw.int(0, 1)],
  bitop: (draw) => {
    const name = draw.one(['AND', 'OR', 'XOR', 'NOT', 'DIFF', 'DIFF1', 'ANDOR', 'ONE']);
    return [name, b(draw), b(draw), ...(name === 'NOT' ? [] : draw.some(2, () => [b(draw)]))];
  },
  bitfield: (draw) => [b(draw), ...draw.some(4, () => field(draw))],
  pfadd: (draw) => [p(draw), ...draw.some(4, () => [draw.int(0, 500)])],
  pfmerge: (draw) => [p(draw), ...draw.some(2, () => [p(draw)])],
};

export const stringReads: Readonly<Record<string, Arguments>> = {
  get: ofString,
  digest: ofString,
  mget: (draw) => draw.some(3, () => [s(draw)]),
  strlen: ofString,
  getrange: (draw) => [s(draw), draw.int(-5, 5), draw.int(-5, 20)],
  substr: (draw) => [s(draw), draw.int(-5, 5), draw.int(-5, 20)],
  lcs: (draw) => [s(draw), s(draw), ...draw.one([[], ['LEN'], ['IDX']])],
  getbit: (draw) => [b(draw), draw.int(0, 200)],
  bitcount: (draw) => [b(draw), ...draw.maybe(draw.int(0, 5), draw.int(-5, 20), 'BYTE')],
  bitpos: (draw) => [b(draw), draw.int(0, 1), ...draw.maybe(draw.int(0, 5))],
  bitfield_ro: (draw) => [b(draw), 'GET', 'u7', draw.int(0, 90)],
  pfcount: (draw) => draw.some(2, () => [p(draw)]),
};

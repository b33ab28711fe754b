/** Hashes, and the deadlines of their fields. */
import { deadline } from './deadline.ts';
import type { Arguments, Draw, Line } from './draw.ts';

const h = (draw: Draw) => draw.key('h');
const pairs = (draw: Draw) => draw.some(4, () => [draw.member(), draw.value()]);
const condition = (draw: Draw) => draw.one([[], [], [draw.one(['NX', 'XX', 'GT', 'LT'])]]);

function fields(draw: Draw): Line {
  const names = draw.some(3, () => [draw.member()]);
  return ['FIELDS', String(names.length), ...names];
}

function valuesOfFields(draw: Draw): Line {
  const set = draw.some(3, () => [draw.member(), draw.value()]);
  return ['FIELDS', String(set.length / 2), ...set];
}

const ofHash: Arguments = (draw) => [h(draw)];
const ofFields: Arguments = (draw) => [h(draw), ...fields(draw)];
const ofField: Arguments = (draw) => [h(draw), draw.member()];
const due =
  (time: (draw: Draw) => string): Arguments =>
  (draw) => [h(draw), time(draw), ...condition(draw), ...fields(draw)];

export const hashCommands: Readonly<Record<string, Arguments>> = {
  hset: (draw) => [h(draw), ...pairs(draw)],
  hmset: (draw) => [h(draw), ...pairs(draw)],
  hsetnx: (draw) => [h(draw), draw.member(), draw.value()],
  hdel: (draw) => [h(draw), ...draw.some(3, () => [draw.member()])],
  hexpire: due((draw) => draw.seconds()),
  hpexpire: due((draw) => draw.milliseconds()),
  hexpireat: due((draw) => draw.atSeconds()),
  hpexpireat: due((draw) => draw.atMilliseconds()),
  hpersist: ofFields,
  hgetdel: ofFields,
  hgetex: (draw) => [
    h(draw),
    ...draw.one([[], ['PERSIST'], deadline(draw), deadline(draw)]),
    ...fields(draw),
  ],
  hsetex: (draw) => [
    h(draw),
    ...draw.one([[], [], [draw.one(['FNX', 'FXX'])]]),
    ...draw.one([[], ['KEEPTTL'], deadline(draw), deadline(draw)]),
    ...valuesOfFields(draw),
  ],
  hincrby: (draw) => [h(draw), draw.member(), draw.int(-50, 50)],
  hincrbyfloat: (draw) => [h(draw), draw.member(), draw.float()],
};

export const hashReads: Readonly<Record<string, Arguments>> = {
  hget: ofField,
  hexists: ofField,
  hstrlen: ofField,
  hmget: (draw) => [h(draw), ...draw.some(3, () => [draw.member()])],
  hlen: ofHash,
  hkeys: ofHash,
  hvals: ofHash,
  hgetall: ofHash,
  httl: ofFields,
  hpttl: ofFields,
  hexpiretime: ofFields,
  hpexpiretime: ofFields,
  hrandfield: (draw) => [h(draw), ...draw.maybe(draw.int(-4, 4), ...draw.maybe('WITHVALUES'))],
  hscan: (draw) => [h(draw), '0', ...draw.maybe('COUNT', draw.int(1, 20))],
};

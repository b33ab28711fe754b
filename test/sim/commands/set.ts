/** Sets. */
import type { Arguments, Draw } from './draw.ts';

const e = (draw: Draw) => draw.key('e');
const ofSet: Arguments = (draw) => [e(draw)];
const ofMembers: Arguments = (draw) => [e(draw), ...draw.some(4, () => [draw.member()])];
const ofSets: Arguments = (draw) => draw.some(3, () => [e(draw)]);
const store: Arguments = (draw) => [e(draw), ...ofSets(draw)];

export const setCommands: Readonly<Record<string, Arguments>> = {
  sadd: ofMembers,
  srem: ofMembers,
  smove: (draw) => [e(draw), e(draw), draw.member()],
  spop: (draw) => [e(draw), ...draw.maybe(draw.int(0, 3))],
  sinterstore: store,
  sunionstore: store,
  sdiffstore: store,
};

export const setReads: Readonly<Record<string, Arguments>> = {
  sismember: (draw) => [e(draw), draw.member()],
  smismember: ofMembers,
  scard: ofSet,
  smembers: ofSet,
  srandmember: (draw) => [e(draw), ...draw.maybe(draw.int(-4, 4))],
  sscan: (draw) => [e(draw), '0', ...draw.maybe('COUNT', draw.int(1, 20))],
  sinter: ofSets,
  sunion: ofSets,
  sdiff: ofSets,
  sintercard: (draw) => [...draw.counted('e'), ...draw.maybe('LIMIT', draw.int(0, 3))],
};

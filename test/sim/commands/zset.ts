/** Sorted sets and places. */
import type { Arguments, Draw, Family, Line } from './draw.ts';

const z = (draw: Draw) => draw.key('z');
const g = (draw: Draw) => draw.key('g');
const rank = (draw: Draw) => [draw.int(-6, 3), draw.int(-3, 8)];
const bound = (draw: Draw) => draw.one(['-inf', '(0', '0', '1', '(1', '2', '+inf']);
const lexical = (draw: Draw) => draw.one(['-', '[a', '(a', '[b', '(z', '[ä', '+']);
const limit = (draw: Draw) => draw.maybe('LIMIT', draw.int(0, 2), draw.int(-1, 3));
const scored = (draw: Draw) => draw.some(4, () => [draw.score(), draw.member()]);
const ofMember: Arguments = (draw) => [z(draw), draw.member()];

function flags(draw: Draw): Line {
  return [
    ...draw.one([[], [], ['NX'], ['XX'], ['XX', 'GT'], ['LT'], ['GT']]),
    ...draw.one([[], ['CH']]),
  ];
}

function combined(draw: Draw): Line {
  const sources = draw.some(3, () => [draw.key(draw.chance(0.2) ? 'e' : 'z')]);
  const weights = ['WEIGHTS', ...sources.map(() => draw.float())];
  const aggregate = ['AGGREGATE', draw.one(['SUM', 'MIN', 'MAX'])];
  return [
    String(sources.length),
    ...sources,
    ...draw.maybe(...weights),
    ...draw.maybe(...aggregate),
  ];
}

function range(draw: Draw): Line {
  switch (draw.number(0, 2)) {
    case 0:
      return [...rank(draw), ...draw.maybe('REV')];
    case 1:
      return [bound(draw), bound(draw), 'BYSCORE', ...draw.maybe('REV'), ...limit(draw)];
    default:
      return [lexical(draw), lexical(draw), 'BYLEX', ...draw.maybe('REV'), ...limit(draw)];
  }
}

const pop: Arguments = (draw) => [z(draw), ...draw.maybe(draw.int(0, 3))];

export const zsetCommands: Readonly<Record<string, Arguments>> = {
  zadd: (draw) =>
    draw.chance(0.15)
      ? [z(draw), 'INCR', draw.float(), draw.member()]
      : [z(draw), ...flags(draw), ...scored(draw)],
  zincrby: (draw) => [z(draw), draw.float(), draw.member()],
  zrem: (draw) => [z(draw), ...draw.some(3, () => [draw.member()])],
  zrangestore: (draw) => [z(draw), z(draw), ...range(draw)],
  zremrangebyrank: (draw) => [z(draw), ...rank(draw)],
  zremrangebyscore: (draw) => [z(draw), bound(draw), bound(draw)],
  zremrangebylex: (draw) => [z(draw), lexical(draw), lexical(draw)],
  zpopmin: pop,
  zpopmax: pop,
  bzpopmin: (draw) => [...draw.some(2, () => [z(draw)]), draw.timeout()],
  bzpopmax: (draw) => [...draw.some(2, () => [z(draw)]), draw.timeout()],
  bzmpop: (draw) => [draw.timeout(), ...draw.counted('z'), draw.one(['MIN', 'MAX'])],
  zmpop: (draw) => [
    ...draw.counted('z'),
    draw.one(['MIN', 'MAX']),
    ...draw.maybe('COUNT', draw.int(1, 3)),
  ],
  zunionstore: (draw) => [z(draw), ...combined(draw)],
  zinterstore: (draw) => [z(draw), ...combined(draw)],
  zdiffstore: (draw) => [z(draw), ...draw.counted('z')],
};

const scoreRange: Arguments = (draw) => [
  z(draw),
  bound(draw),
  bound(draw),
  ...draw.maybe('WITHSCORES'),
  ...limit(draw),
];
const lexicalRange: Arguments = (draw) => [z(draw), lexical(draw), lexical(draw), ...limit(draw)];

export const zsetReads: Readonly<Record<string, Arguments>> = {
  zcard: (draw) => [z(draw)],
  zscore: ofMember,
  zmscore: (draw) => [z(draw), ...draw.some(3, () => [draw.member()])],
  zrank: ofMember,
  zrevrank: ofMember,
  zcount: (draw) => [z(draw), bound(draw), bound(draw)],
  zlexcount: (draw) => [z(draw), lexical(draw), lexical(draw)],
  zrange: (draw) => [z(draw), ...range(draw)],
  zrevrange: (draw) => [z(draw), ...rank(draw), ...draw.maybe('WITHSCORES')],
  zrangebyscore: scoreRange,
  zrevrangebyscore: scoreRange,
  zrangebylex: lexicalRange,
  zrevrangebylex: lexicalRange,
  zrandmember: (draw) => [z(draw), ...draw.maybe(draw.int(-4, 4), ...draw.maybe('WITHSCORES'))],
  zscan: (draw) => [z(draw), '0', ...draw.maybe('COUNT', draw.int(1, 20))],
  zunion: combined,
  zinter: combined,
  zdiff: (draw) => draw.counted('z'),
  zintercard: (draw) => [...draw.counted('z'), ...draw.maybe('LIMIT', draw.int(0, 3))],
};

const towns = ['rome', 'paris', 'nyc', 'suva', 'pole'];
const town = (draw: Draw) => draw.one(towns);
const longitude = (draw: Draw) => String(draw.number(-1_800, 1_800) / 10);
const latitude = (draw: Draw) => String(draw.number(-850, 850) / 10);
const radius = (draw: Draw) => [draw.one(['500', '5000', '20000']), draw.one(['km', 'mi'])];

function area(draw: Draw): Line {
  const center = draw.chance(0.5)
    ? ['FROMMEMBER', town(draw)]
    : ['FROMLONLAT', longitude(draw), latitude(draw)];
  const [size, unit] = radius(draw) as [string, string];
  const shape = draw.chance(0.5) ? ['BYRADIUS', size, unit] : ['BYBOX', size, size, unit];
  const order = draw.one([[], ['ASC'], ['DESC']]);
  return [...center, ...shape, ...order, ...draw.maybe('COUNT', draw.int(1, 4))];
}

const keeping = (draw: Draw, family: Family) =>
  draw.one([[], ['STORE', draw.key(family)], ['STOREDIST', draw.key(family)]]);

export const geoCommands: Readonly<Record<string, Arguments>> = {
  geoadd: (draw) => [
    g(draw),
    ...draw.one([[], [], ['NX'], ['XX', 'CH']]),
    ...draw.some(3, () => [longitude(draw), latitude(draw), town(draw)]),
  ],
  geosearchstore: (draw) => [g(draw), g(draw), ...area(draw), ...draw.maybe('STOREDIST')],
  georadius: (draw) => [
    g(draw),
    longitude(draw),
    latitude(draw),
    ...radius(draw),
    ...keeping(draw, 'g'),
  ],
  georadiusbymember: (draw) => [g(draw), town(draw), ...radius(draw), ...keeping(draw, 'z')],
};

export const geoReads: Readonly<Record<string, Arguments>> = {
  geodist: (draw) => [g(draw), town(draw), town(draw), 'km'],
  geohash: (draw) => [g(draw), ...draw.some(3, () => [town(draw)])],
  geopos: (draw) => [g(draw), ...draw.some(3, () => [town(draw)])],
  geosearch: (draw) => [g(draw), ...area(draw), ...draw.maybe('WITHDIST')],
  georadius_ro: (draw) => [g(draw), longitude(draw), latitude(draw), ...radius(draw)],
  georadiusbymember_ro: (draw) => [g(draw), town(draw), ...radius(draw), 'WITHHASH'],
};

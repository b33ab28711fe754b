/** What ZanRedisDB's clients send and Redis's do not. */
import type { Arguments, Draw, Family, Line } from './draw.ts';

export const typed: readonly (readonly [
  type: 'KV' | 'HASH' | 'LIST' | 'SET' | 'ZSET',
  family: Family,
])[] = [
  ['KV', 's'],
  ['HASH', 'h'],
  ['LIST', 'l'],
  ['SET', 'e'],
  ['ZSET', 'z'],
];

function ofType(draw: Draw): Line {
  const [type, family] = draw.one(typed);
  return [type, draw.key(family)];
}

function keysOfType(draw: Draw): Line {
  const [type, family] = draw.one(typed);
  return [type, ...draw.some(2, () => [draw.key(family)])];
}

const expiry = (draw: Draw): Line => draw.maybe('EX', draw.seconds());

export const zanCommands: Readonly<Record<string, Arguments>> = {
  'zan.set': (draw) => [
    draw.key('s'),
    draw.value(),
    ...draw.maybe(draw.one(['NX', 'XX'])),
    ...expiry(draw),
  ],
  setifeq: (draw) => [draw.key('s'), draw.value(), draw.value(), ...expiry(draw)],
  delifeq: (draw) => [draw.key('s'), draw.value()],
  plset: (draw) => draw.some(3, () => [draw.key('s'), draw.value()]),
  'zan.clear': keysOfType,
  'zan.expire': (draw) => [...ofType(draw), draw.seconds()],
  'zan.persist': ofType,
};

const options = (draw: Draw): Line => [
  ...draw.maybe('MATCH', draw.one(['*', '*1', 'z*'])),
  ...draw.maybe('COUNT', draw.int(1, 20)),
];

/** A type and a table that may have keys of it. */
function typeAndTable(draw: Draw): Line {
  const [type, family] = draw.one(typed);
  return [type, draw.table(family)];
}

export const zanReads: Readonly<Record<string, Arguments>> = {
  'zan.exists': keysOfType,
  'zan.ttl': ofType,
  'zan.elements': (draw) => {
    const [type, family] = draw.one(typed.filter(([name]) => name !== 'KV' && name !== 'LIST'));
    const cursor = draw.one(['', '', draw.member()]);
    return [type, draw.key(family), cursor, ...draw.maybe('REV'), ...options(draw)];
  },
  'zan.scan': (draw) => [...typeAndTable(draw), '', ...draw.maybe('REV'), ...options(draw)],
  'zan.fullscan': (draw) => [...typeAndTable(draw), '', ...options(draw)],
};

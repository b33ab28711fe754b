/** Keys whatever they hold: names, deadlines, copies of all kinds. */
import type { Arguments, Draw, Line } from './draw.ts';

const any = (draw: Draw) => draw.anyKey();
const ofAny: Arguments = (draw) => [any(draw)];
const condition = (draw: Draw) => draw.one([[], [], [draw.one(['NX', 'XX', 'GT', 'LT'])]]);

/** Another key of the same letter, most of the time: its type stays where it belongs. */
function two(draw: Draw): Line {
  const family = draw.one(['s', 'h', 'l', 'e', 'z', 'g', 'x', 'n'] as const);
  return [draw.key(family), draw.key(family)];
}

const due =
  (time: (draw: Draw) => string): Arguments =>
  (draw) => [any(draw), time(draw), ...condition(draw)];

function by(draw: Draw): Line {
  if (draw.chance(0.6)) return [];
  return ['BY', draw.one(['nosort', `${draw.tag}s*`, `${draw.tag}h0->*`])];
}

function sorted(draw: Draw): Line {
  return [
    draw.key(draw.one(['l', 'e', 'e', 'z'])),
    ...by(draw),
    ...draw.maybe('LIMIT', draw.int(0, 2), draw.int(1, 5)),
    ...draw.maybe(draw.one(['ASC', 'DESC'])),
    ...draw.one([['ALPHA'], ['ALPHA'], []]),
    ...draw.one([[], [], [], ['GET', `${draw.tag}s*`, 'GET', '#']]),
  ];
}

export const keyCommands: Readonly<Record<string, Arguments>> = {
  del: (draw) => draw.some(2, () => [any(draw)]),
  unlink: (draw) => draw.some(2, () => [any(draw)]),
  rename: two,
  renamenx: two,
  copy: (draw) => [...two(draw), ...draw.maybe('REPLACE')],
  sort: (draw) => [...sorted(draw), ...(draw.chance(0.7) ? ['STORE', draw.key('l')] : [])],
  expire: due((draw) => draw.seconds()),
  pexpire: due((draw) => draw.milliseconds()),
  expireat: due((draw) => draw.atSeconds()),
  pexpireat: due((draw) => draw.atMilliseconds()),
  persist: ofAny,
  restore: (draw) => [
    any(draw),
    draw.one(['0', draw.milliseconds()]),
    draw.dumps.length === 0 ? 'no payload' : draw.one(draw.dumps),
    ...(draw.chance(0.8) ? ['REPLACE'] : []),
  ],
};

export const keyReads: Readonly<Record<string, Arguments>> = {
  exists: (draw) => draw.some(3, () => [any(draw)]),
  touch: (draw) => draw.some(3, () => [any(draw)]),
  type: ofAny,
  sort_ro: sorted,
  ttl: ofAny,
  pttl: ofAny,
  expiretime: ofAny,
  pexpiretime: ofAny,
  dump: ofAny,
  object: (draw) => [draw.one(['ENCODING', 'REFCOUNT', 'IDLETIME']), any(draw)],
  memory: (draw) => ['USAGE', any(draw)],
  scan: (draw) => ['0', ...draw.maybe('COUNT', draw.int(1, 50))],
  keys: (draw) => [draw.one(['*', '{a}*', '*0'])],
  randomkey: () => [],
  dbsize: () => [],
};

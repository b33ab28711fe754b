/** Streams, their consumer groups and what these have pending. */
import { type Arguments, type Draw, type Line, tabledName } from './draw.ts';

const x = (draw: Draw) => draw.key('x');
/** What most entries of a stream have; IDs only grow, so that a greater one would end that. */
const MS = '5';
/** Few and small, so that entries, ranges and what is pending meet. */
const id = (draw: Draw) =>
  draw.chance(0.85) ? `${MS}-${draw.int(0, 9)}` : draw.one(['0-1', '1', '3-2', MS]);
const group = (draw: Draw) => draw.one(['g', 'g', 'g', 'g', 'g', 'h']);
const consumer = (draw: Draw) => draw.one(['ann', 'ben', 'cid']);
const ids = (draw: Draw): Line => draw.some(6, () => [id(draw)]);
const start = (draw: Draw) => draw.one(['-', '-', id(draw), `(${id(draw)}`]);
const end = (draw: Draw) => draw.one(['+', '+', id(draw), `(${id(draw)}`]);
const count = (draw: Draw): Line => draw.maybe('COUNT', draw.int(1, 4));
const fields = (draw: Draw): Line => draw.some(3, () => [draw.member(), draw.value()]);
const ofGroup: Arguments = (draw) => [x(draw), group(draw)];

function trimming(draw: Draw): Line {
  return draw.one([
    ['MAXLEN', draw.int(0, 6)],
    ['MAXLEN', '=', draw.int(0, 6)],
    ['MINID', id(draw)],
    ['MAXLEN', '~', draw.int(0, 6), 'LIMIT', '100'],
    ['MINID', '~', id(draw)],
  ]);
}

/** Streams of one name have times, the others small IDs, some of which are refused. */
function newId(draw: Draw, key: string): string {
  if (key.endsWith(tabledName)) return draw.one(['*', '*', '*', id(draw)]);
  return draw.chance(0.8) ? `${MS}-*` : draw.one([id(draw), '3-*']);
}

const add: Arguments = (draw) => {
  const key = x(draw);
  const existing = draw.one([[], [], [], ['NOMKSTREAM']]);
  const trim = draw.one([[], [], [], [...trimming(draw), ...fate(draw)]]);
  return [key, ...existing, ...trim, newId(draw, key), ...fields(draw)];
};

/** What becomes of what is pending of entries that are deleted. */
const fate = (draw: Draw): Line => draw.one([[], ['KEEPREF'], ['DELREF'], ['ACKED'], ['ACKED']]);

/** The same, and the IDs of XDELEX and XACKDEL. */
function fated(draw: Draw): Line {
  const drawn = ids(draw);
  return [...fate(draw), 'IDS', String(drawn.length), ...drawn];
}

/** Keys and an ID for each. */
function streams(draw: Draw, from: () => string): Line {
  const keys = draw.chance(0.8) ? [x(draw)] : [x(draw), x(draw)];
  return ['STREAMS', ...keys, ...keys.map(from)];
}

const claimed = (draw: Draw) => [x(draw), group(draw), consumer(draw), draw.one(['0', '0', '200'])];

const create: Arguments = (draw) => [
  'CREATE',
  ...ofGroup(draw),
  draw.one(['$', '0', '0', '0', id(draw)]),
  ...draw.one([[], ['MKSTREAM'], ['MKSTREAM'], ['MKSTREAM']]),
  ...draw.one([[], ['ENTRIESREAD', draw.int(0, 5)]]),
];

const groupCommands: readonly Arguments[] = [
  ...Array.from({ length: 8 }, () => create),
  (draw) => ['CREATECONSUMER', ...ofGroup(draw), consumer(draw)],
  (draw) => ['DELCONSUMER', ...ofGroup(draw), consumer(draw)],
  (draw) => ['DESTROY', ...ofGroup(draw)],
  (draw) => ['SETID', ...ofGroup(draw), draw.one(['$', '0', id(draw)])],
];

const infos: readonly Arguments[] = [
  (draw) => ['STREAM', x(draw), ...draw.one([[], ['FULL'], ['FULL', 'COUNT', draw.int(0, 3)]])],
  (draw) => ['GROUPS', x(draw)],
  (draw) => ['CONSUMERS', ...ofGroup(draw)],
];

export const streamCommands: Readonly<Record<string, Arguments>> = {
  xadd: add,
  xdel: (draw) => [x(draw), ...ids(draw)],
  xdelex: (draw) => [x(draw), ...fated(draw)],
  xackdel: (draw) => [...ofGroup(draw), ...fated(draw)],
  xtrim: (draw) => [x(draw), ...trimming(draw), ...fate(draw)],
  xsetid: (draw) => [
    x(draw),
    draw.one(['1', `${MS}-${draw.int(0, 4)}`]),
    ...draw.one([[], ['ENTRIESADDED', draw.int(0, 20), 'MAXDELETEDID', '1']]),
  ],
  xgroup: (draw) => draw.one(groupCommands)(draw),
  xreadgroup: (draw) => [
    'GROUP',
    group(draw),
    consumer(draw),
    ...count(draw),
    ...draw.one([[], ['BLOCK', draw.int(1, 150)]]),
    ...draw.one([[], [], [], ['CLAIM', '100'], ['CLAIM', '0', 'NOACK'], ['NOACK']]),
    ...streams(draw, () => draw.one(['>', '>', '>', '>', '0', id(draw)])),
  ],
  xack: (draw) => [...ofGroup(draw), ...ids(draw)],
  xclaim: (draw) => [
    ...claimed(draw),
    ...ids(draw),
    ...draw.one([[], ['IDLE', draw.int(0, 900)], ['TIME', draw.atMilliseconds()]]),
    ...draw.maybe('RETRYCOUNT', draw.int(0, 5)),
    ...draw.maybe('FORCE'),
    ...draw.one([[], [], ['JUSTID'], ['LASTID', id(draw)]]),
  ],
  xautoclaim: (draw) => [
    ...claimed(draw),
    draw.one(['0', '-', id(draw)]),
    ...count(draw),
    ...draw.maybe('JUSTID'),
  ],
};

export const streamReads: Readonly<Record<string, Arguments>> = {
  xlen: (draw) => [x(draw)],
  xrange: (draw) => [x(draw), start(draw), end(draw), ...count(draw)],
  xrevrange: (draw) => [x(draw), end(draw), start(draw), ...count(draw)],
  xread: (draw) => [
    ...count(draw),
    ...draw.one([[], [], ['BLOCK', draw.int(1, 150)]]),
    // `$` stands for what there was when it came
    ...streams(draw, () => draw.one(['0', id(draw)])),
  ],
  xpending: (draw) => [
    ...ofGroup(draw),
    ...draw.maybe(start(draw), end(draw), draw.int(1, 5), ...draw.maybe(consumer(draw))),
  ],
  xinfo: (draw) => draw.one(infos)(draw),
};

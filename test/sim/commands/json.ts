/** JSON documents. */
import type { Arguments, Draw, Line } from './draw.ts';

const j = (draw: Draw) => draw.key('j');
const documents = [
  '{"a":1,"b":{"a":2.5,"c":[1,2,3]},"d":"x"}',
  '[1,2,{"a":[true,null]},"y"]',
  '{"a":{"a":{"a":[]}}}',
  '{}',
  '7',
];
const paths = [
  '$',
  '.',
  '$.a',
  '.a',
  '$..a',
  '$.b.c',
  '.b.c',
  '$.*',
  '$..*',
  '$.b.c[-1]',
  '$.b.c[1:]',
];
const filters = ['$..[?(@.a>1)]', '$.b.c[?(@>=2)]', '$.zzz', 'd', '$.b["n"]'];

const path = (draw: Draw): string => draw.one([...paths, ...filters]);
const value = (draw: Draw): string =>
  draw.one([...documents, JSON.stringify(draw.member()), draw.int(-9, 9), 'true', 'null', '1.5']);
const atPath: Arguments = (draw) => [j(draw), path(draw)];
const withNumber: Arguments = (draw) => [j(draw), path(draw), draw.one([draw.int(-9, 9), '0.5'])];
const perhapsPath: Arguments = (draw) => [j(draw), ...draw.one<Line>([[], [path(draw)]])];
/** Most often whole documents, else there would be nothing to look into. */
const set: Arguments = (draw) =>
  draw.chance(0.5)
    ? [j(draw), '$', draw.one(documents)]
    : [j(draw), path(draw), value(draw), ...draw.one<Line>([[], [], ['NX'], ['XX']])];

export const jsonCommands: Readonly<Record<string, Arguments>> = {
  'json.set': set,
  'json.mset': (draw) => draw.some(3, () => [j(draw), '$', draw.one(documents)]),
  'json.merge': (draw) => [j(draw), path(draw), value(draw)],
  'json.del': perhapsPath,
  'json.forget': atPath,
  'json.clear': perhapsPath,
  'json.numincrby': withNumber,
  'json.nummultby': withNumber,
  'json.strappend': (draw) => [j(draw), path(draw), JSON.stringify(draw.member())],
  'json.toggle': atPath,
  'json.arrappend': (draw) => [j(draw), path(draw), ...draw.some(3, () => [value(draw)])],
  'json.arrinsert': (draw) => [j(draw), path(draw), draw.int(-2, 3), value(draw)],
  'json.arrpop': (draw) => [...atPath(draw), ...draw.one<Line>([[], [draw.int(-3, 3)]])],
  'json.arrtrim': (draw) => [j(draw), path(draw), draw.int(-2, 3), draw.int(-2, 3)],
};

export const jsonReads: Readonly<Record<string, Arguments>> = {
  'json.get': (draw) => [j(draw), ...draw.some(2, () => [path(draw)])],
  'json.mget': (draw) => [...draw.some(3, () => [j(draw)]), path(draw)],
  'json.type': perhapsPath,
  'json.resp': perhapsPath,
  'json.strlen': perhapsPath,
  'json.objkeys': perhapsPath,
  'json.objlen': perhapsPath,
  'json.arrlen': perhapsPath,
  'json.arrindex': (draw) => [j(draw), path(draw), value(draw)],
};

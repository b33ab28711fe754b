/** Arrays in documents: JSON.ARRAPPEND, ARRINSERT, ARRPOP, ARRTRIM, ARRLEN, ARRINDEX. */
import { placeOf } from '../../encoding/json/json-find.ts';
import { JsonGrowth } from '../../encoding/json/json-growth.ts';
import { parseJson } from '../../encoding/json/json-parse.ts';
import {
  copyOfJson,
  isSameJson,
  type Json,
  JsonError,
  Strides,
} from '../../encoding/json/json-value.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import { integer, NULL } from '../../resp/reply.ts';
import { argument, integerArgument, wrongArity } from '../rows/args.ts';
import { type Command, read, write } from '../rows/command.ts';
import {
  type Changer,
  changing,
  column,
  jsonArgument,
  jsonArguments,
  type Look,
  looking,
  NO_DOCUMENT,
  type PathRequest,
  parseKeyPath,
  pathOf,
  writing,
} from './json-run.ts';

interface InsertRequest extends PathRequest {
  /** Where; undefined: at the end. */
  readonly index?: number;
  readonly values: readonly Buffer[];
}

/** JSON.ARRAPPEND key path value [value ...] */
function parseAppend(args: readonly Buffer[]): InsertRequest {
  const path = pathOf(argument(args, 2));
  return { key: argument(args, 1), path, values: jsonArguments(args.slice(3)) };
}

/** JSON.ARRINSERT key path index value [value ...] */
function parseInsert(args: readonly Buffer[]): InsertRequest {
  const path = pathOf(argument(args, 2));
  const index = indexArgument(argument(args, 3));
  return { key: argument(args, 1), path, index, values: jsonArguments(args.slice(4)) };
}

/** Beyond all arrays is far enough. */
function indexArgument(arg: Buffer): number {
  const index = integerArgument(arg);
  return Math.min(Math.max(Number(index), -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/** The new length. An index is within the array, or at its end. */
function* inserter({ index, values }: InsertRequest): Slices<Changer> {
  const more: Json[] = [];
  const strides = new Strides();
  for (const value of values) {
    if (strides.isDue) yield* strides.rest();
    more.push(yield* parseJson(value));
  }
  const growth = yield* JsonGrowth.of(more);
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const at = index === undefined ? value.length : index < 0 ? value.length + index : index;
    if (at < 0 || at > value.length) throw new JsonError('index out of bounds');
    growth.add();
    const longer = [...value.slice(0, at), ...more.map(copyOfJson), ...value.slice(at)];
    return { value: longer, reply: integer(longer.length) };
  };
}

interface PopRequest extends PathRequest {
  readonly index: number;
}

/** JSON.ARRPOP key [path [index]]: −1, the last one, unless told otherwise */
function parsePop(args: readonly Buffer[]): PopRequest {
  const index = args[3] === undefined ? -1 : indexArgument(args[3]);
  return { ...parseKeyPath(args), index };
}

/** An index beyond the array is that of its first or last element. */
function popper({ index }: PopRequest): Changer {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    if (value.length === 0) return { reply: NULL };
    const at = Math.min(placeOf(index, value.length), value.length - 1);
    return { value: value.toSpliced(at, 1), reply: { json: value[at]! } };
  };
}

interface TrimRequest extends PathRequest {
  readonly start: number;
  /** Inclusive. */
  readonly stop: number;
}

/** JSON.ARRTRIM key path start stop */
function parseTrim(args: readonly Buffer[]): TrimRequest {
  const [start, stop] = [indexArgument(argument(args, 3)), indexArgument(argument(args, 4))];
  return { key: argument(args, 1), path: pathOf(argument(args, 2)), start, stop };
}

function trimmer({ start, stop }: TrimRequest): Changer {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const { length } = value;
    const last = stop < 0 ? length + stop : Math.min(stop, length - 1);
    const kept = value.slice(placeOf(start, length), Math.max(0, last + 1));
    return { value: kept, reply: integer(kept.length) };
  };
}

function lengthOf(): Look {
  return (value) => (Array.isArray(value) ? integer(value.length) : undefined);
}

interface IndexRequest extends PathRequest {
  readonly json: Buffer;
  readonly start: number;
  /** Exclusive; 0: the end of the array. */
  readonly stop: number;
}

/** JSON.ARRINDEX key path value [start [stop]] */
function parseIndex(args: readonly Buffer[]): IndexRequest {
  if (args.length > 6) throw wrongArity('json.arrindex');
  const [start, stop] = [args[4], args[5]].map((arg) => (arg ? indexArgument(arg) : 0));
  const path = pathOf(argument(args, 2));
  const json = jsonArgument(argument(args, 3));
  return { key: argument(args, 1), path, json, start: start!, stop: stop! };
}

/** Where the first such element is; −1: there is none. */
function* indexOf({ json, start, stop }: IndexRequest): Slices<Look> {
  const wanted = yield* parseJson(json);
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const { length } = value;
    const from = placeOf(start, length);
    const to = stop === 0 ? length : placeOf(stop, length);
    const at = value.findIndex((item, at) => at >= from && at < to && isSameJson(item, wanted));
    return integer(at);
  };
}

const CHANGING = { expected: 'an array', ofArrays: true } as const;
const ABSENCE = { expected: 'an array', noKey: NO_DOCUMENT };

export const jsonArrayCommands: readonly Command[] = [
  write({
    ...writing,
    name: 'json.arrappend',
    arity: -4,
    summary: 'Appends values to the arrays at a path.',
    parse: parseAppend,
    run: changing(inserter, { ...CHANGING, event: 'json.arrappend' }),
  }),
  write({
    ...writing,
    name: 'json.arrinsert',
    arity: -5,
    summary: 'Inserts values into the arrays at a path.',
    parse: parseInsert,
    run: changing(inserter, { ...CHANGING, event: 'json.arrinsert' }),
  }),
  write({
    ...writing,
    name: 'json.arrpop',
    arity: -2,
    flags: ['write'],
    summary: 'Removes an element of the arrays at a path, and returns it.',
    parse: parsePop,
    run: changing(popper, { ...CHANGING, event: 'json.arrpop' }),
  }),
  write({
    ...writing,
    name: 'json.arrtrim',
    arity: 5,
    flags: ['write'],
    summary: 'Keeps only the elements from one to another of the arrays at a path.',
    parse: parseTrim,
    run: changing(trimmer, { ...CHANGING, event: 'json.arrtrim' }),
  }),
  read({
    ...column,
    name: 'json.arrlen',
    arity: -2,
    flags: ['readonly'],
    summary: 'Returns the lengths of the arrays at a path.',
    parse: parseKeyPath,
    run: looking(lengthOf, ABSENCE),
  }),
  read({
    ...column,
    name: 'json.arrindex',
    arity: -4,
    flags: ['readonly'],
    summary: 'Returns where a value is first found in the arrays at a path.',
    parse: parseIndex,
    run: looking(indexOf, { ...ABSENCE, noKeyLegacy: NO_DOCUMENT }),
  }),
];

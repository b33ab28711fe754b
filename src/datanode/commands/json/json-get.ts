/** What is in a document: JSON.GET, JSON.MGET, JSON.TYPE, JSON.RESP, JSON.DEBUG MEMORY. */
import { limits } from '../../../common/limits.ts';
import { findJson } from '../../encoding/json/json-document.ts';
import { findSpots, PathWalk } from '../../encoding/json/json-find.ts';
import { parseJson } from '../../encoding/json/json-parse.ts';
import { isStatic, type JsonPath, ROOT_PATH } from '../../encoding/json/json-path.ts';
import { findText } from '../../encoding/json/json-scan.ts';
import { COMPACT, type JsonLayout, jsonText } from '../../encoding/json/json-text.ts';
import {
  Double,
  isContainer,
  type Json,
  type JsonType,
  jsonTypeOf,
  Strides,
} from '../../encoding/json/json-value.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { View } from '../../encoding/txn/view.ts';
import { array, bulk, EMPTY_ARRAY, integer, NULL, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { argument, shownText, WRONG_TYPE, word } from '../rows/args.ts';
import { ArgumentError, type Command, type RunContext, read } from '../rows/command.ts';
import {
  column,
  differing,
  jsonRun,
  type Look,
  looking,
  noSuchPath,
  type PathRequest,
  parseKeyPath,
  pathOf,
  REPLY_TEXT,
  valuesAt,
} from './json-run.ts';

interface GetRequest {
  readonly key: Buffer;
  readonly layout: JsonLayout;
  readonly paths: readonly JsonPath[];
}

const TOO_MANY_PATHS = `ERR JSON.GET takes at most ${limits.jsonPathsMax} paths`;

/** JSON.GET key [INDENT indent] [NEWLINE newline] [SPACE space] [path [path ...]] */
function parseGet(args: readonly Buffer[]): GetRequest {
  let layout = COMPACT;
  const paths: JsonPath[] = [];
  for (let at = 2; at < args.length; at++) {
    const option = word(argument(args, at));
    const more = at + 1 < args.length;
    if (isLayout(option) && more) layout = { ...layout, [option]: argument(args, ++at).toString() };
    else if (option === 'noescape') continue;
    else paths.push(pathOf(argument(args, at)));
    if (paths.length > limits.jsonPathsMax) throw new ArgumentError(TOO_MANY_PATHS);
  }
  return { key: argument(args, 1), layout, paths: paths.length > 0 ? paths : [ROOT_PATH] };
}

function isLayout(option: string): option is keyof JsonLayout {
  return option === 'indent' || option === 'newline' || option === 'space';
}

function* runGet(
  view: View,
  { key, layout, paths }: GetRequest,
  { nowMs }: RunContext,
): Slices<Reply> {
  const stored = findJson(view, key, nowMs);
  if (stored === 'wrong-type') return WRONG_TYPE;
  if (stored === undefined) return NULL;
  const [only] = paths;
  if (paths.length === 1 && isWhole(only!) && layout === COMPACT)
    return wholeOf(stored.text, only!);
  if (layout === COMPACT && paths.length <= SCANNED_PATHS_MAX && paths.every(isStatic)) {
    const reply = yield* scannedGet(stored.text, paths);
    if (reply !== undefined) return reply;
  }
  return yield* parsedGet(stored.text, paths, layout);
}

/** Undefined: there is so much that it has to be bounded while it is put together. */
function* scannedGet(text: Buffer, paths: readonly JsonPath[]): Slices<Reply | undefined> {
  const isLegacy = paths.every((path) => path.isLegacy);
  const found = new Map<string, Buffer>();
  let bytes = 0;
  for (const path of paths) {
    const one = yield* findText(text, path);
    if (isLegacy && one === undefined) return noSuchPath(path);
    bytes += one?.length ?? 0;
    if (bytes > limits.valueBytesMax) return undefined;
    found.set(path.text, Buffer.concat(isLegacy ? [one!] : [BEGIN, one ?? NOTHING, END]));
  }
  if (paths.length === 1) return bulk(found.get(paths[0]!.text)!);
  const members = Array.from(found, ([name, value], at) => {
    return [Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`), value];
  });
  return bulk(Buffer.concat([...members.flat(), Buffer.from('}')]));
}

function* parsedGet(text: Buffer, paths: readonly JsonPath[], layout: JsonLayout): Slices<Reply> {
  const root = yield* parseJson(text);
  const found = new Map<string, Json>();
  const walk = new PathWalk(root);
  const isLegacy = paths.every((path) => path.isLegacy);
  for (const path of paths) {
    const values = (yield* findSpots(root, path, walk)).map(({ value }) => value);
    const [first] = values;
    if (isLegacy && first === undefined) return noSuchPath(path);
    found.set(path.text, isLegacy ? first! : values);
  }
  const whole = paths.length === 1 ? found.get(paths[0]!.text)! : found;
  return bulk(yield* jsonText(whole, REPLY_TEXT, layout));
}

/** The document itself, whose text is stored as it is answered. */
function isWhole({ steps }: JsonPath): boolean {
  return steps.length === 0;
}

function wholeOf(text: Buffer, { isLegacy }: JsonPath): Reply {
  return bulk(isLegacy ? text : Buffer.concat([BEGIN, text, END]));
}

const [BEGIN, END, NOTHING] = [Buffer.from('['), Buffer.from(']'), Buffer.alloc(0)];
/** Each looks through the document's text anew. */
const SCANNED_PATHS_MAX = 4;

interface MGetRequest {
  readonly keys: readonly Buffer[];
  readonly path: JsonPath;
}

/** JSON.MGET key [key ...] path */
function parseMGet(args: readonly Buffer[]): MGetRequest {
  return { keys: args.slice(1, -1), path: pathOf(argument(args, args.length - 1)) };
}

/** Null where there is no document, or an older path names nothing. */
function* runMGet(view: View, { keys, path }: MGetRequest, { nowMs }: RunContext): Slices<Reply> {
  const pile = new ReplyPile('array', 'fewer keys');
  const strides = new Strides();
  for (const key of keys) {
    if (strides.isDue) yield* strides.rest();
    const stored = findJson(view, key, nowMs);
    if (stored === undefined || stored === 'wrong-type' || isWhole(path)) {
      pile.add(typeof stored === 'object' ? wholeOf(stored.text, path) : NULL);
      continue;
    }
    if (isStatic(path)) {
      const text = yield* findText(stored.text, path);
      pile.add(text === undefined && path.isLegacy ? NULL : wholeOf(text ?? NOTHING, path));
      continue;
    }
    const values = yield* valuesAt(stored.text, path);
    const shown = path.isLegacy ? values[0] : values;
    pile.add(shown === undefined ? NULL : bulk(yield* jsonText(shown, REPLY_TEXT)));
  }
  return pile.reply();
}

/** JSON.TYPE key [path]: in RESP3 within an array of one. */
const runType = jsonRun<View, PathRequest>(function* (view, { key, path }, { nowMs }) {
  const stored = findJson(view, key, nowMs);
  if (stored === 'wrong-type') return WRONG_TYPE;
  const types = stored === undefined ? [] : (yield* typesAt(stored.text, path)).map(bulk);
  const isNull = stored === undefined || path.isLegacy;
  const reply = isNull ? (types[0] ?? NULL) : array(types);
  return differing(reply, array([reply]));
});

function* typesAt(text: Buffer, path: JsonPath): Slices<JsonType[]> {
  if (!isStatic(path)) return (yield* valuesAt(text, path)).map(jsonTypeOf);
  const found = yield* findText(text, path);
  if (found === undefined) return [];
  const mark = String.fromCharCode(found[0]!);
  if (mark === '[') return ['array'];
  return [mark === '{' ? 'object' : jsonTypeOf(yield* parseJson(found))];
}

/** JSON.RESP key [path]: containers as arrays, of which the first item says what they are. */
function respOf(value: Json): Reply {
  if (Array.isArray(value)) return array([ARRAY_MARK, ...value.map(respOf)]);
  if (value instanceof Map) {
    const members = Array.from(value, ([name, inner]) => [bulk(name), respOf(inner)]);
    return array([OBJECT_MARK, ...members.flat()]);
  }
  if (value === null) return NULL;
  if (typeof value === 'boolean') return { kind: 'simple', text: String(value) };
  if (value instanceof Double) return { kind: 'double', value: value.value };
  return typeof value === 'string' ? bulk(value) : integer(value);
}

const ARRAY_MARK: Reply = { kind: 'simple', text: '[' };
const OBJECT_MARK: Reply = { kind: 'simple', text: '{' };
/** Of each value, beside its characters. */
const VALUE_BYTES = 8;

function memoryOf(value: Json): number {
  if (typeof value === 'string') return VALUE_BYTES + Buffer.byteLength(value);
  if (!isContainer(value)) return VALUE_BYTES;
  let bytes = VALUE_BYTES;
  if (Array.isArray(value)) for (const inner of value) bytes += memoryOf(inner);
  else for (const [name, inner] of value) bytes += Buffer.byteLength(name) + memoryOf(inner);
  return bytes;
}

/** JSON.DEBUG MEMORY key [path] */
function parseDebug(args: readonly Buffer[]): PathRequest {
  const what = argument(args, 1);
  if (word(what) !== 'memory') {
    const given = shownText(what);
    throw new ArgumentError(`ERR unknown subcommand '${given}', try JSON.DEBUG MEMORY key [path]`);
  }
  return parseKeyPath(args.slice(1));
}

/** Without looking at the request again. */
function eachValue(look: Look): () => Look {
  return () => look;
}

export const jsonGetCommands: readonly Command[] = [
  read({
    ...column,
    name: 'json.get',
    arity: -2,
    flags: ['readonly'],
    summary: 'Returns the values at one or more paths as JSON text.',
    parse: parseGet,
    run: jsonRun(runGet),
  }),
  read({
    ...column,
    name: 'json.mget',
    arity: -3,
    flags: ['readonly'],
    keys: { first: 1, last: -2, step: 1 },
    fanOut: { over: 'keys', merge: 'keyOrder' },
    summary: 'Returns the values at a path of several keys.',
    parse: parseMGet,
    run: jsonRun(runMGet),
  }),
  read({
    ...column,
    name: 'json.type',
    arity: -2,
    flags: ['readonly'],
    summary: 'Returns the types of the values at a path.',
    parse: parseKeyPath,
    run: runType,
  }),
  read({
    ...column,
    name: 'json.resp',
    arity: -2,
    flags: ['readonly'],
    summary: 'Returns the values at a path in the form of the Redis protocol.',
    parse: parseKeyPath,
    run: looking(eachValue(respOf), { expected: 'a value', noKey: NULL }),
  }),
  read({
    ...column,
    name: 'json.debug',
    arity: -3,
    flags: ['readonly'],
    keys: { first: 2, last: 2, step: 1 },
    summary: 'Reports how much memory values take.',
    parse: parseDebug,
    run: looking(
      eachValue((value) => integer(memoryOf(value))),
      { expected: 'a value', noKey: EMPTY_ARRAY, noKeyLegacy: integer(0) },
    ),
  }),
];

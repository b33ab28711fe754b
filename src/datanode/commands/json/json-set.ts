/** Documents and parts of them as a whole: JSON.SET, JSON.MSET, JSON.MERGE, JSON.DEL, JSON.CLEAR. */
import { limits } from '../../../common/limits.ts';
import {
  findJson,
  type JsonDocument,
  readJson,
  type StoredJson,
  storeJson,
  textOfDocument,
} from '../../encoding/json/json-document.ts';
import { findSpots, removeAll, replaceAt, type Spot } from '../../encoding/json/json-find.ts';
import { JsonGrowth } from '../../encoding/json/json-growth.ts';
import { mergedJson } from '../../encoding/json/json-merge.ts';
import { parseJson } from '../../encoding/json/json-parse.ts';
import { isStatic, type JsonPath, soleName } from '../../encoding/json/json-path.ts';
import { findText } from '../../encoding/json/json-scan.ts';
import { withNewMember, withPart } from '../../encoding/json/json-splice.ts';
import { sizeOf } from '../../encoding/json/json-text.ts';
import {
  copyOfJson,
  isContainer,
  type Json,
  numberOf,
  Strides,
} from '../../encoding/json/json-value.ts';
import { findKey, removeKey } from '../../encoding/keyspace/keyspace.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { error, integer, NULL, OK, type Reply } from '../../resp/reply.ts';
import { argument, syntaxError, WRONG_TYPE, word, wrongArity } from '../rows/args.ts';
import { ArgumentError, type Command, type RunContext, write } from '../rows/command.ts';
import {
  jsonArgument,
  jsonRun,
  NO_DOCUMENT,
  type PathRequest,
  parseKeyPath,
  pathOf,
  save,
  saveText,
  topSpots,
  writing,
} from './json-run.ts';

interface SetRequest extends PathRequest {
  readonly json: Buffer;
  readonly condition?: 'nx' | 'xx' | undefined;
}

const TOO_MANY = `ERR JSON.MSET sets at most ${limits.jsonDocumentsMax} documents at once`;
const NOT_AT_ROOT = error('ERR new objects must be created at the root');
const WRONG_STATIC_PATH = error('ERR Err wrong static path');

/** JSON.SET key path value [NX | XX] */
function parseSet(args: readonly Buffer[]): SetRequest {
  let condition: SetRequest['condition'];
  for (let at = 4; at < args.length; at++) {
    const option = word(argument(args, at));
    if ((option === 'nx' || option === 'xx') && condition === undefined) {
      condition = option;
    } else {
      throw syntaxError();
    }
  }
  const path = pathOf(argument(args, 2));
  return { key: argument(args, 1), path, json: jsonArgument(argument(args, 3)), condition };
}

function* runSet(
  view: WriteView,
  { key, path, json, condition }: SetRequest,
  context: RunContext,
): Slices<Reply> {
  const { nowMs } = context;
  const stored = findJson(view, key, nowMs);
  if (stored === 'wrong-type') return WRONG_TYPE;
  if (stored === undefined && path.steps.length > 0) return NOT_AT_ROOT;
  if (stored === undefined || path.steps.length === 0) {
    if (condition === (stored === undefined ? 'xx' : 'nx')) return NULL;
    const document = stored ?? { found: findKey(view, key, nowMs), deadlineMs: 0 };
    yield* save(view, document, yield* parseJson(json), 'json.set');
    return OK;
  }
  const value = yield* parseJson(json);
  if (isStatic(path)) {
    const done = yield* setPart(view, stored, path, value, condition);
    if (done !== undefined) return done;
  }
  const document = { ...stored, root: yield* parseJson(stored.text) };
  const root = yield* withValue({ root: document.root, path }, value, condition);
  if (root === undefined) return NULL;
  if (root === 'not static') return WRONG_STATIC_PATH;
  yield* save(view, document, root, 'json.set');
  return OK;
}

/** In the text, where a path names one value or may get one. Undefined: it does not, or has to be looked at closely. */
function* setPart(
  view: WriteView,
  stored: StoredJson,
  path: JsonPath,
  value: Json,
  condition: SetRequest['condition'],
): Slices<Reply | undefined> {
  const part = yield* findText(stored.text, path);
  if (condition === (part === undefined ? 'xx' : 'nx')) return NULL;
  const name = soleName(path.steps.at(-1));
  let text: Buffer | undefined;
  if (part !== undefined) text = yield* withPart(stored.text, part, path, value);
  else if (name !== undefined) text = yield* withNewMember(stored.text, path, name, value);
  if (text === undefined) return undefined;
  saveText(view, stored, text, 'json.set');
  return OK;
}

/** Where in which document. */
interface Place {
  readonly root: Json;
  readonly path: JsonPath;
}

/** The document with `value` wherever the path leads; undefined: it leads nowhere that may be changed. */
function* withValue(
  place: Place,
  value: Json,
  condition: SetRequest['condition'],
): Slices<Json | undefined | 'not static'> {
  const { root, path } = place;
  const spots = yield* topSpots(root, path);
  if (spots.length > 0) {
    if (condition === 'nx') return undefined;
    const growth = yield* JsonGrowth.of([value]);
    return yield* replaced(root, spots, () => {
      growth.add();
      return copyOfJson(value);
    });
  }
  if (condition === 'xx') return undefined;
  return yield* withMember(place, value);
}

function* replaced(
  before: Json,
  spots: readonly Spot[],
  valueFor: (spot: Spot) => Json,
): Slices<Json> {
  const strides = new Strides();
  let root = before;
  for (const spot of spots) {
    if (strides.isDue) yield* strides.rest();
    root = replaceAt(root, spot, valueFor(spot));
  }
  return root;
}

/** Where there is an object that lacks only the last name of the path, it is added. */
function* withMember({ root, path }: Place, value: Json): Slices<Json | undefined | 'not static'> {
  const name = soleName(path.steps.at(-1));
  if (name === undefined || !isStatic(path)) return isStatic(path) ? undefined : 'not static';
  const above = { ...path, steps: path.steps.slice(0, -1) };
  const parents = yield* findSpots(root, above);
  let isAdded = false;
  for (const { value: parent } of parents) {
    if (!(parent instanceof Map)) continue;
    parent.set(name, copyOfJson(value));
    isAdded = true;
  }
  return isAdded ? root : undefined;
}

/** JSON.MSET key path value [key path value ...] */
function parseMSet(args: readonly Buffer[]): readonly SetRequest[] {
  if (args.length % 3 !== 1) throw wrongArity('json.mset');
  if (args.length > 3 * limits.jsonDocumentsMax) throw new ArgumentError(TOO_MANY);
  const requests: SetRequest[] = [];
  for (let at = 1; at < args.length; at += 3) {
    const path = pathOf(argument(args, at + 1));
    requests.push({ key: argument(args, at), path, json: jsonArgument(argument(args, at + 2)) });
  }
  return requests;
}

/** A key's document as JSON.MSET makes it. */
interface Made {
  readonly kept: Omit<JsonDocument, 'root'>;
  readonly root: Json;
}

/** All of them, or none: what is wrong with one is found before anything is stored. */
function* runMSet(
  view: WriteView,
  requests: readonly SetRequest[],
  context: RunContext,
): Slices<Reply> {
  const made = new Map<string, Made>();
  const strides = new Strides();
  for (const request of requests) {
    if (strides.isDue) yield* strides.rest();
    const name = request.key.toString('latin1');
    const one = yield* madeOf(view, request, made.get(name), context);
    if (one === undefined) continue;
    if ('kind' in one) return one;
    made.set(name, one);
  }
  return yield* storeAll(view, made.values());
}

/** `before`: what a request for the same key has made. Undefined: nothing changes. */
function* madeOf(
  view: WriteView,
  { key, path, json }: SetRequest,
  before: Made | undefined,
  context: RunContext,
): Slices<Made | Reply | undefined> {
  const value = yield* parseJson(json);
  const stored = before?.kept ?? findJson(view, key, context.nowMs);
  if (stored === 'wrong-type') return WRONG_TYPE;
  const kept = stored ?? { found: findKey(view, key, context.nowMs), deadlineMs: 0 };
  if (path.steps.length === 0) return { kept, root: value };
  if (stored === undefined) return NOT_AT_ROOT;
  const root = before?.root ?? (yield* parseJson((stored as StoredJson).text));
  const changed = yield* withValue({ root, path }, value, undefined);
  if (changed === 'not static') return WRONG_STATIC_PATH;
  return changed === undefined ? undefined : { kept, root: changed };
}

/** The texts first: one of them may be too large. */
function* storeAll(view: WriteView, made: Iterable<Made>): Slices<Reply> {
  const texts: { readonly kept: Made['kept']; readonly text: Buffer }[] = [];
  for (const { kept, root } of made) texts.push({ kept, text: yield* textOfDocument(root) });
  const strides = new Strides();
  for (const { kept, text } of texts) {
    if (strides.isDue) yield* strides.rest();
    saveText(view, kept, text, 'json.mset');
  }
  return OK;
}

interface MergeRequest extends PathRequest {
  readonly json: Buffer;
}

/** JSON.MERGE key path value */
function parseMerge(args: readonly Buffer[]): MergeRequest {
  const path = pathOf(argument(args, 2));
  return { key: argument(args, 1), path, json: jsonArgument(argument(args, 3)) };
}

/** RFC 7396: members that are null in the patch go, others take the place of what is there. */
function* runMerge(
  view: WriteView,
  { key, path, json }: MergeRequest,
  context: RunContext,
): Slices<Reply> {
  const { nowMs } = context;
  const document = yield* readJson(view, key, nowMs);
  if (document === 'wrong-type') return WRONG_TYPE;
  const patch = yield* parseJson(json);
  if (document === undefined) {
    if (path.steps.length > 0) return NOT_AT_ROOT;
    yield* storeJson(view, findKey(view, key, nowMs), mergedJson(null, patch), 0);
    view.notify?.('module', 'json.merge', key);
    return OK;
  }
  const root = yield* mergedAt({ root: document.root, path }, patch);
  if (root === 'not static') return WRONG_STATIC_PATH;
  if (root === undefined) return NULL;
  if (root === 'gone') removeKey(view, document.found);
  else yield* storeJson(view, document.found, root, document.deadlineMs);
  view.notify?.('module', 'json.merge', key);
  return OK;
}

/** `gone`: null was merged into the document itself. */
function* mergedAt(place: Place, patch: Json): Slices<Json | undefined | 'not static' | 'gone'> {
  const { root, path } = place;
  const spots = yield* topSpots(root, path);
  if (spots.length === 0) return yield* withMember(place, mergedJson(null, patch));
  if (patch !== null) {
    const growth = yield* JsonGrowth.of([patch]);
    return yield* replaced(root, spots, ({ value }) => {
      growth.add();
      return mergedJson(value, patch);
    });
  }
  if (path.steps.length === 0) return 'gone';
  removeAll(spots);
  return root;
}

/** JSON.DEL key [path], JSON.FORGET key [path] */
function* runDel(view: WriteView, { key, path }: PathRequest, context: RunContext): Slices<Reply> {
  const stored = findJson(view, key, context.nowMs);
  if (stored === 'wrong-type') return WRONG_TYPE;
  if (stored === undefined) return integer(0);
  if (path.steps.length === 0) {
    removeKey(view, stored.found);
    view.notify?.('module', 'json.del', key);
    view.notify?.('generic', 'del', key);
    return integer(1);
  }
  const root = yield* parseJson(stored.text);
  const spots = yield* topSpots(root, path);
  if (spots.length === 0) return integer(0);
  removeAll(spots);
  yield* save(view, stored, root, 'json.del');
  return integer(spots.length);
}

/** JSON.CLEAR key [path]: empties containers and makes numbers zero; returns how many it changed. */
function* runClear(
  view: WriteView,
  { key, path }: PathRequest,
  context: RunContext,
): Slices<Reply> {
  const document = yield* readJson(view, key, context.nowMs);
  if (document === 'wrong-type') return WRONG_TYPE;
  if (document === undefined) return NO_DOCUMENT;
  let { root } = document;
  let count = 0;
  const strides = new Strides();
  for (const spot of yield* topSpots(root, path)) {
    if (strides.isDue) yield* strides.rest();
    const value = cleared(spot.value);
    if (value === undefined) continue;
    root = replaceAt(root, spot, value);
    count++;
  }
  if (count > 0) yield* save(view, document, root, 'json.clear');
  return integer(count);
}

/** Undefined: there is nothing to clear. */
function cleared(value: Json): Json | undefined {
  if (isContainer(value)) {
    if (sizeOf(value) === 0) return undefined;
    return Array.isArray(value) ? [] : new Map();
  }
  const number = numberOf(value);
  return number === undefined || number === 0 ? undefined : 0;
}

const TRIPLE_KEYS = { first: 1, last: -1, step: 3 };

export const jsonSetCommands: readonly Command[] = [
  write({
    ...writing,
    name: 'json.set',
    arity: -4,
    summary: 'Sets or updates the JSON value at a path.',
    parse: parseSet,
    run: jsonRun(runSet),
  }),
  write({
    ...writing,
    name: 'json.mset',
    arity: -4,
    keys: TRIPLE_KEYS,
    summary: 'Sets or updates the JSON values of one or more keys, all of them or none.',
    parse: parseMSet,
    run: jsonRun(runMSet),
  }),
  write({
    ...writing,
    name: 'json.merge',
    arity: 4,
    summary: 'Merges a JSON value into those at a path: sets, updates and deletes members.',
    parse: parseMerge,
    run: jsonRun(runMerge),
  }),
  ...(['json.del', 'json.forget'] as const).map((name) =>
    write({
      ...writing,
      name,
      arity: -2,
      flags: ['write'],
      summary: 'Deletes the values at a path, or the key.',
      parse: parseKeyPath,
      run: jsonRun(runDel),
    }),
  ),
  write({
    ...writing,
    name: 'json.clear',
    arity: -2,
    flags: ['write'],
    summary: 'Empties arrays and objects, and sets numbers to zero.',
    parse: parseKeyPath,
    run: jsonRun(runClear),
  }),
];

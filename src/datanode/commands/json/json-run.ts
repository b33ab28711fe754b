/**
 * What JSON commands have in common: their arguments, the document of a key, and the reply to a path. A
 * path that begins with `$` is answered with an array, an item for each value that it names; one in the older form with
 * what the first value (of a write: the last) comes to, and with an error where there is none.
 */
import { limits } from '../../../common/limits.ts';
import {
  findJson,
  type JsonDocument,
  type StoredJson,
  storeJson,
  storeText,
} from '../../encoding/json/json-document.ts';
import {
  findSpots,
  outermost,
  refill,
  replaceAt,
  type Spot,
} from '../../encoding/json/json-find.ts';
import { parseJson } from '../../encoding/json/json-parse.ts';
import { isStatic, type JsonPath, parsePath, ROOT_PATH } from '../../encoding/json/json-path.ts';
import { findText } from '../../encoding/json/json-scan.ts';
import { withPart } from '../../encoding/json/json-splice.ts';
import { jsonText, type TextBounds } from '../../encoding/json/json-text.ts';
import {
  DEPTH_MAX,
  isContainer,
  type Json,
  JsonError,
  Strides,
} from '../../encoding/json/json-value.ts';
import { GLANCE, type Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { bulk, error, NULL, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import { argument, WRONG_TYPE } from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import { ArgumentError, FIRST_KEY, type RunContext, type RunResult } from '../rows/command.ts';

/** Documents up to so many bytes are looked at before they go into the log. */
const CHECKED_BYTES_MAX = 16_384;
const CHECKED_AT_ONCE = 64;
/** An array of what paths name, for each of several paths, lies around the document's own parts. */
export const REPLY_TEXT: TextBounds = {
  values: Number.POSITIVE_INFINITY,
  characters: limits.replyBytesMax,
  depth: DEPTH_MAX + 2,
};
const NARROWER = 'a path that names fewer values';
export const NO_DOCUMENT = error(
  "ERR could not perform this operation on a key that doesn't exist",
);

/** Columns of all rows. */
export const column = {
  categories: [],
  group: 'json',
  keys: FIRST_KEY,
  since: '8.0.0',
} as const;

/** And of those that change a document. */
export const writing = {
  ...column,
  flags: ['write', 'denyoom'],
  appliesFrom: () => applyVersions.json,
} as const;

export interface PathRequest {
  readonly key: Buffer;
  readonly path: JsonPath;
}

/** COMMAND key [path] */
export function parseKeyPath(args: readonly Buffer[]): PathRequest {
  return { key: argument(args, 1), path: args[2] === undefined ? ROOT_PATH : pathOf(args[2]) };
}

/** What is wrong with it is refused before the log. */
export function pathOf(arg: Buffer): JsonPath {
  return refusing(() => parsePath(arg));
}

/** A JSON text that is to become part of a document: what is wrong with a short one is refused before the log. */
export function jsonArgument(arg: Buffer): Buffer {
  if (arg.length > CHECKED_BYTES_MAX) return arg;
  return refusing(() => {
    const parsing = parseJson(arg);
    while (!parsing.next([]).done);
    return arg;
  });
}

/** The same of many: what is wrong is refused before the log where they are few. */
export function jsonArguments(all: readonly Buffer[]): readonly Buffer[] {
  if (all.length <= CHECKED_AT_ONCE) for (const arg of all) jsonArgument(arg);
  return all;
}

function refusing<T>(parse: () => T): T {
  try {
    return parse();
  } catch (failure) {
    if (!(failure instanceof JsonError)) throw failure;
    throw new ArgumentError(`ERR ${failure.message}`);
  }
}

/** `run` with what is wrong with its documents as a reply. Nothing may have been changed by then. */
export function jsonRun<V extends View, Request>(
  run: (view: V, request: Request, context: RunContext) => Slices<Reply>,
): (view: V, request: Request, context: RunContext) => RunResult {
  return (view, request, context) => atOnce(answering(run(view, request, context)));
}

function* answering(run: Slices<Reply>): Slices<Reply> {
  try {
    return yield* run;
  } catch (failure) {
    if (!(failure instanceof JsonError)) throw failure;
    return error(`ERR ${failure.message}`);
  }
}

/** What a read comes to for a value; undefined: it has another type than the command is about. */
export type Look = (value: Json) => Reply | undefined;

/** At once, or when what the request brings has been read. */
type Made<What> = What | Slices<What>;

/** How a reading command answers where there is no document, or no such value. */
export interface Absence {
  /** Of the type that is asked for, in errors. */
  readonly expected: string;
  /** No such key. */
  readonly noKey: Reply;
  /** The same for an older path; by default null. */
  readonly noKeyLegacy?: Reply;
  /** Of an older path that names nothing; by default an error. */
  readonly noPath?: Reply;
}

/** `look` at each value that the path names. */
export function looking<Request extends PathRequest>(
  lookOf: (request: Request) => Made<Look>,
  absence: Absence,
) {
  return jsonRun<View, Request>(function* (view, request, { nowMs }) {
    const { key, path } = request;
    const stored = findJson(view, key, nowMs);
    if (stored === 'wrong-type') return WRONG_TYPE;
    if (stored === undefined) {
      return path.isLegacy ? (absence.noKeyLegacy ?? NULL) : absence.noKey;
    }
    const look = yield* made(lookOf(request));
    const values = yield* valuesAt(stored.text, path);
    if (path.isLegacy) return firstOf(values, look, path, absence);
    const pile = new ReplyPile('array', NARROWER);
    const strides = new Strides();
    for (const value of values) {
      // a look at a container may be one at all of a document
      if (isContainer(value)) yield GLANCE;
      else if (strides.isDue) yield* strides.rest();
      pile.add(look(value) ?? NULL);
    }
    return pile.reply();
  });
}

/** What a path names in a stored text, of which no more is read than has to be. */
export function* valuesAt(text: Buffer, path: JsonPath): Slices<Json[]> {
  if (!isStatic(path)) {
    return (yield* findSpots(yield* parseJson(text), path)).map(({ value }) => value);
  }
  const found = yield* findText(text, path);
  return found === undefined ? [] : [yield* parseJson(found)];
}

function firstOf(
  [value]: readonly Json[],
  look: Look,
  path: JsonPath,
  { expected, noPath }: Absence,
): Reply {
  if (value === undefined) return noPath ?? noSuchPath(path);
  return look(value) ?? wrongValue(path, expected);
}

/** What a write makes of a value: another, or the same container with other things in it. */
export interface Change {
  /** Undefined: nothing changes. */
  readonly value?: Json;
  /** A document is answered as its text. */
  readonly reply: Reply | { readonly json: Json };
}

/** Undefined: the value has another type than the command is about. */
export type Changer = (value: Json) => Change | undefined;

export interface Changing {
  readonly event: string;
  readonly expected: string;
  /**
   * It makes arrays of arrays, which may lie within each other: the inner ones change first, and stay what they
   * are, so that no change is lost with an array whose place another one took.
   */
  readonly ofArrays?: true;
}

/** `change` each value that the path names; all at once, or nothing when one of them cannot be. */
export function* changed(
  view: WriteView,
  { key, path }: PathRequest,
  { nowMs }: RunContext,
  change: Changer,
  { event, expected, ofArrays }: Changing,
): Slices<readonly Reply[] | Reply> {
  const stored = findJson(view, key, nowMs);
  if (stored === 'wrong-type') return WRONG_TYPE;
  if (stored === undefined) return NO_DOCUMENT;
  if (isStatic(path)) return yield* changedPart(view, stored, path, change, { event, expected });
  const document = { ...stored, root: yield* parseJson(stored.text) };
  const spots = yield* findSpots(document.root, path);
  if (path.isLegacy && spots.length === 0) return noSuchPath(path);
  const { replies, root } = yield* changeAll(document.root, spots, change, ofArrays === true);
  if (path.isLegacy && replies.every((reply) => reply === undefined))
    return wrongValue(path, expected);
  const texts = yield* textsOf(replies);
  if (root !== undefined) yield* save(view, document, root, event);
  return texts;
}

/** The same of the one value that a path names, without reading the rest. */
function* changedPart(
  view: WriteView,
  stored: StoredJson,
  path: JsonPath,
  change: Changer,
  { event, expected }: Changing,
): Slices<readonly Reply[] | Reply> {
  const part = yield* findText(stored.text, path);
  if (part === undefined) return path.isLegacy ? noSuchPath(path) : [];
  const made = change(yield* parseJson(part));
  if (path.isLegacy && made === undefined) return wrongValue(path, expected);
  const replies = yield* textsOf([made?.reply]);
  if (made?.value === undefined) return replies;
  const text = yield* withPart(stored.text, part, path, made.value);
  if (text !== undefined) saveText(view, stored, text, event);
  else yield* save(view, stored, yield* wholeWith(stored.text, path, made.value), event);
  return replies;
}

function* wholeWith(text: Buffer, path: JsonPath, value: Json): Slices<Json> {
  const root = yield* parseJson(text);
  const [spot] = yield* findSpots(root, path);
  return spot === undefined ? root : replaceAt(root, spot, value);
}

function* textsOf(replies: readonly (Change['reply'] | undefined)[]): Slices<readonly Reply[]> {
  const texts: Reply[] = [];
  for (const reply of replies) {
    if (reply === undefined) texts.push(NULL);
    else texts.push('kind' in reply ? reply : bulk(yield* jsonText(reply.json, REPLY_TEXT)));
  }
  return texts;
}

function* changeAll(
  before: Json,
  spots: readonly Spot[],
  change: Changer,
  isInnerFirst: boolean,
): Slices<Changed> {
  const strides = new Strides();
  const replies = new Array<Change['reply'] | undefined>(spots.length);
  let root = before;
  let isChanged = false;
  for (let done = 0; done < spots.length; done++) {
    if (strides.isDue) yield* strides.rest();
    const at = isInnerFirst ? spots.length - 1 - done : done;
    const spot = spots[at]!;
    const made = change(spot.value);
    replies[at] = made?.reply;
    if (made?.value === undefined) continue;
    if (isInnerFirst) refill(spot.value as Json[], made.value as Json[]);
    else root = replaceAt(root, spot, made.value);
    isChanged = true;
  }
  return { replies, root: isChanged ? root : undefined };
}

interface Changed {
  readonly replies: readonly (Change['reply'] | undefined)[];
  /** Undefined: nothing has changed. */
  readonly root: Json | undefined;
}

/** Of a document that goes on under its key, deadline and all. */
export function* save(
  view: WriteView,
  { found, deadlineMs }: Omit<JsonDocument, 'root'>,
  root: Json,
  event: string,
): Slices<void> {
  yield* storeJson(view, found, root, deadlineMs);
  view.notify?.('module', event, found.key);
}

/** The same of its text. */
export function saveText(
  view: WriteView,
  { found, deadlineMs }: Omit<StoredJson, 'text'>,
  text: Buffer,
  event: string,
): void {
  storeText(view, found, text, deadlineMs);
  view.notify?.('module', event, found.key);
}

/** As a run: an array for a path with `$`, else what the last value came to. */
export function changing<Request extends PathRequest>(
  changeOf: (request: Request) => Made<Changer>,
  how: Changing,
) {
  return jsonRun<WriteView, Request>(function* (view, request, context) {
    const replies = yield* changed(view, request, context, yield* made(changeOf(request)), how);
    if (!isList(replies)) return replies;
    if (request.path.isLegacy) return lastOf(replies);
    return { kind: 'array', items: replies };
  });
}

function* made<What extends Look | Changer>(what: Made<What>): Slices<What> {
  return typeof what === 'function' ? what : yield* what;
}

export function isList(replies: readonly Reply[] | Reply): replies is readonly Reply[] {
  return Array.isArray(replies);
}

export function lastOf(replies: readonly Reply[]): Reply {
  return replies.findLast(({ kind }) => kind !== 'null') ?? NULL;
}

/** Values that lie in none of the others that the path names. */
export function* topSpots(root: Json, path: JsonPath): Slices<Spot[]> {
  return yield* outermost(yield* findSpots(root, path));
}

/** Another form for clients that speak RESP3. */
export function differing(resp2: Reply, resp3: Reply): Reply {
  return { kind: 'either', resp2, resp3 };
}

export function noSuchPath(path: JsonPath): Reply {
  return error(`ERR Path '${shown(path)}' does not exist`);
}

export function wrongValue(path: JsonPath, expected: string): Reply {
  return error(`ERR Path '${shown(path)}' does not exist or not ${expected}`);
}

/** As errors of RedisJSON name it: in the newer form. */
function shown({ text, isLegacy }: JsonPath): string {
  if (!isLegacy) return text;
  if (text === '.' || text === '') return '$';
  return text.startsWith('.') || text.startsWith('[') ? `$${text}` : `$.${text}`;
}

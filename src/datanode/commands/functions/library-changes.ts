/** FUNCTION LOAD, DELETE, FLUSH and RESTORE, in one partition. */
import { limits } from '../../../common/limits.ts';
import {
  flushLibraries,
  functionNamed,
  keepLibrary,
  libraryBytes,
  libraryNamed,
  libraryTotals,
  removeLibrary,
} from '../../encoding/scripts/kept-libraries.ts';
import { eachItem, type Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { bulk, error, OK, type Reply } from '../../resp/reply.ts';
import { DIFFERS } from '../rows/settled.ts';
import { shaOf } from '../scripts/compiled.ts';
import { decodeLibraries } from './library-payload.ts';
import { type Loading, loadLibrary } from './load-library.ts';

type Loaded = Extract<Loading, { ok: true }>;

export type RestorePolicy = 'flush' | 'append' | 'replace';

export interface LoadRequest {
  readonly code: Buffer;
  /** Of the library, as its code says it. */
  readonly name: string;
  readonly replace: boolean;
}

export interface RestoreRequest {
  readonly payload: Buffer;
  readonly policy: RestorePolicy;
}

export const TOO_MANY_BYTES = `ERR a library has ${limits.scriptBytesMax} bytes at most`;
const NOT_FOUND = error('ERR Library not found');
const NO_ROOM = error(
  `ERR libraries have no more room (${limits.librariesBytesMax} bytes and ${limits.librariesMax} ` +
    'libraries for all of them): remove some by FUNCTION DELETE',
);
const TOO_LONG = error(
  `ERR the libraries take more than ${limits.librariesRestoreStepsMax} steps together while they ` +
    'are loaded: restore them in parts',
);

export function* runLoad(view: WriteView, request: LoadRequest): Slices<Reply> {
  const { code, name, replace } = request;
  const old = libraryNamed(view, name);
  if (old !== undefined && !replace) {
    const isSame = old.sha === shaOf(code);
    return error(`ERR Library '${name}' already exists${isSame ? '' : DIFFERS}`);
  }
  const loading = yield* loadLibrary(code);
  if (!loading.ok) return error(loading.message);
  const taken = yield* takenName(view, [loading]);
  const refused = taken ?? roomRefusal(view, [loading], 'replace');
  if (refused !== undefined) return refused;
  yield* keepAll(view, [loading]);
  return bulk(name);
}

export function* runDelete(view: WriteView, name: string): Slices<Reply> {
  return (yield* removeLibrary(view, name)) ? OK : NOT_FOUND;
}

export function* runFlush(view: WriteView): Slices<Reply> {
  yield* flushLibraries(view);
  return OK;
}

export function* runRestore(view: WriteView, request: RestoreRequest): Slices<Reply> {
  const { payload, policy } = request;
  const decoded = yield* decodeLibraries(payload);
  if (!decoded.ok) return error(decoded.message);
  const loaded = yield* loadAll(decoded.codes);
  if ('kind' in loaded) return loaded;
  const kept = policy === 'append' ? keptAlready(view, loaded) : undefined;
  if (kept !== undefined) return kept;
  const taken = policy === 'flush' ? undefined : yield* takenName(view, loaded);
  const refused = taken ?? roomRefusal(view, loaded, policy);
  if (refused !== undefined) return refused;
  if (policy === 'flush') yield* flushLibraries(view);
  yield* keepAll(view, loaded);
  return OK;
}

/** None of them is kept yet; an error's reply when one cannot be loaded, or not beside another. */
function* loadAll(codes: readonly Buffer[]): Slices<readonly Loaded[] | Reply> {
  const loaded: Loaded[] = [];
  const libraries = new Set<string>();
  const functions = new Set<string>();
  let stepsLeft = limits.librariesRestoreStepsMax;
  for (const code of codes) {
    if (code.length > limits.scriptBytesMax) return error(TOO_MANY_BYTES);
    if (stepsLeft < limits.libraryLoadStepsMax) return TOO_LONG;
    const loading = yield* loadLibrary(code);
    if (!loading.ok) return error(loading.message);
    const { name, functions: own } = loading.library;
    if (libraries.has(name)) return error(`ERR Library '${name}' already exists`);
    const twice = own.find((item) => functions.has(item.name.toLowerCase()));
    if (twice !== undefined) return error(`ERR Function ${twice.name} already exists`);
    libraries.add(name);
    for (const item of own) functions.add(item.name.toLowerCase());
    stepsLeft -= loading.steps;
    loaded.push(loading);
  }
  return loaded;
}

/** RESTORE APPEND replaces none. */
function keptAlready(view: View, loaded: readonly Loaded[]): Reply | undefined {
  const kept = loaded.map(({ library }) => libraryNamed(view, library.name));
  const found = kept.find((library) => library !== undefined);
  if (found === undefined) return undefined;
  const isSame = loaded.every(({ library }, at) => library.sha === kept[at]?.sha);
  return error(`ERR Library ${found.name} already exists${isSame ? '' : DIFFERS}`);
}

/** A function of a library that stays has the name of one of these. Of half a million each is looked up. */
function* takenName(view: View, loaded: readonly Loaded[]): Slices<Reply | undefined> {
  const replaced = new Set(loaded.map(({ library }) => library.name));
  let taken: string | undefined;
  for (const { library } of loaded) {
    yield* eachItem(library.functions, ({ name }) => {
      const found = functionNamed(view, name);
      if (found === undefined || replaced.has(found.library)) return false;
      taken = name;
      return true;
    });
    if (taken !== undefined) return error(`ERR Function ${taken} already exists`);
  }
  return undefined;
}

function roomRefusal(
  view: View,
  loaded: readonly Loaded[],
  policy: RestorePolicy,
): Reply | undefined {
  let { libraries, bytes } = policy === 'flush' ? NOTHING_KEPT : libraryTotals(view);
  for (const { library } of loaded) {
    libraries++;
    bytes += libraryBytes(library);
    const old = policy === 'flush' ? undefined : libraryNamed(view, library.name);
    if (old === undefined) continue;
    libraries--;
    bytes -= libraryBytes(old);
  }
  const hasRoom = libraries <= limits.librariesMax && bytes <= limits.librariesBytesMax;
  return hasRoom ? undefined : NO_ROOM;
}

const NOTHING_KEPT = { libraries: 0, bytes: 0 };

/** First those go that they replace: a function may move from one of these to another. */
function* keepAll(view: WriteView, loaded: readonly Loaded[]): Slices<void> {
  for (const { library } of loaded) yield* removeLibrary(view, library.name);
  for (const { library, code } of loaded) yield* keepLibrary(view, library, code);
}

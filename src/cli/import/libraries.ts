/**
 * Libraries of functions on their way into a cluster. At the source they belong to the server, here each
 * namespace has its own: so every namespace that is filled is given all of them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { KvorumError } from '../../common/errors.ts';
import { parseMetadata } from '../../datanode/commands/functions/library-metadata.ts';
import { decodeLibraries } from '../../datanode/commands/functions/library-payload.ts';
import type { Client } from '../../sdk/client.ts';
import { ClientError, ReplyError } from '../../sdk/errors.ts';
import { finished } from './finished.ts';
import type { OnConflict } from './key-writer.ts';
import type { Report } from './report.ts';

/** What becomes of one that is there with other code; `none`: all are left out. */
export type OnLibrary = OnConflict | 'none';

export const onLibraries: readonly OnLibrary[] = ['fail', 'skip', 'replace', 'none'];

const TRIES = 20;
const AGAIN_MS = 500;

export class Libraries {
  readonly #onLibrary: OnLibrary;
  readonly #isDry: boolean;
  readonly #report: Report;
  /** By their names. */
  readonly #codes = new Map<string, Buffer>();
  readonly #clients = new Set<Client>();

  constructor(onLibrary: OnLibrary, isDry: boolean, report: Report) {
    this.#onLibrary = onLibrary;
    this.#isDry = isDry;
    this.#report = report;
  }

  /** Some are to be loaded, and there is no namespace for them yet. */
  get isWaiting(): boolean {
    return this.#codes.size > 0 && this.#clients.size === 0;
  }

  /** One of a file. */
  async add(name: string, code: Buffer): Promise<void> {
    if (this.#onLibrary === 'none') {
      const why = 'as was asked for (--functions, or else --match, says so)';
      return this.#report.warn(`the library of functions ${name} is left out, ${why}`);
    }
    this.#codes.set(name, code);
    for (const client of this.#clients) await this.#loadAll(client, [[name, code]]);
  }

  /** The namespace gets what has come, and what comes later. */
  async into(client: Client): Promise<void> {
    if (this.#clients.has(client)) return;
    this.#clients.add(client);
    await this.#loadAll(client, [...this.#codes]);
  }

  /** What a running source does with its own: FUNCTION and what follows it. Rejects with ReplyError. */
  async follow(line: readonly Buffer[]): Promise<void> {
    if (this.#onLibrary === 'none') return;
    const change = changeOf(line, this.#codes);
    if (change === undefined) return;
    for (const client of this.#clients) {
      try {
        await asked(client, change);
      } catch (failure) {
        if (!NOT_THERE.test((failure as Error).message)) throw failure;
      }
    }
  }

  /** A function may move from one that is loaded later to one before it. */
  async #loadAll(client: Client, libraries: readonly Library[]): Promise<void> {
    let left = libraries;
    for (let before = left.length + 1; left.length > 0 && left.length < before; ) {
      before = left.length;
      const taken: Library[] = [];
      for (const library of left) {
        if (!(await this.#load(client, library))) taken.push(library);
      }
      left = taken;
    }
    for (const [name] of left)
      this.#refuse(name, 'another library has a function of a name of its');
  }

  /** False: another library has a function of the same name, and may be replaced yet. */
  async #load(client: Client, library: Library): Promise<boolean> {
    const [name, code] = library;
    if (this.#isDry) return this.#look(client, library);
    try {
      await asked(client, ['LOAD', code]);
      this.#report.add('libraries');
    } catch (failure) {
      if (!(failure instanceof ReplyError) || failure.code !== 'ERR') throw stopped(name, failure);
      const { message } = failure;
      if (IS_TAKEN.test(message)) return this.#taken(name, message);
      if (IS_THERE.test(message)) await this.#isThere(client, library);
      else this.#refuse(name, message);
    }
    return true;
  }

  async #isThere(client: Client, library: Library): Promise<void> {
    const [name, code] = library;
    const kept = await keptCode(client, name);
    // all partitions have it now, as it is in the file
    if (kept?.equals(code)) return this.#report.add('libraries');
    if (this.#onLibrary === 'skip') return this.#report.add('keptLibraries');
    if (this.#onLibrary !== 'replace') throw conflict(name, 'is there already, with other code');
    try {
      await asked(client, ['LOAD', 'REPLACE', code]);
      this.#report.add('libraries');
    } catch (failure) {
      if (!(failure instanceof ReplyError) || failure.code !== 'ERR') throw stopped(name, failure);
      this.#refuse(name, failure.message);
    }
  }

  #taken(name: string, why: string): boolean {
    if (this.#onLibrary === 'replace') return false;
    if (this.#onLibrary !== 'skip') throw conflict(name, `cannot be loaded: ${why}`);
    this.#report.add('keptLibraries');
    return true;
  }

  /** What a dry run does: it counts. */
  async #look(client: Client, [name]: Library): Promise<true> {
    const kept = await keptCode(client, name);
    this.#report.add(kept === undefined ? 'libraries' : 'keptLibraries');
    return true;
  }

  #refuse(name: string, why: string): void {
    this.#report.refusedLibraries++;
    this.#report.refuse(`the library of functions ${name}`, why);
  }
}

type Library = readonly [name: string, code: Buffer];

const IS_THERE = /^ERR Library \S+ already exists/;
const IS_TAKEN = /^ERR Function \S+ already exists/;
const NOT_THERE = /^ERR Library not found/;

/** One that was carried out by some partitions may be asked for again: it comes to the same. */
async function asked(client: Client, args: readonly unknown[]): Promise<unknown> {
  for (let left = TRIES; ; left--) {
    try {
      return await client.callBuffer('FUNCTION', ...args);
    } catch (failure) {
      const mayPass = failure instanceof ClientError && (failure.retriable || isOpen(failure));
      if (!mayPass || left === 0) throw failure;
      await sleep(AGAIN_MS);
    }
  }
}

function isOpen({ code }: ClientError): boolean {
  return code === 'OUTCOME_UNKNOWN' || code === 'PARTIAL';
}

/** Undefined: there is none of that name. */
async function keptCode(client: Client, name: string): Promise<Buffer | undefined> {
  const found = await asked(client, ['LIST', 'LIBRARYNAME', name, 'WITHCODE']);
  for (const pairs of found as readonly (readonly unknown[])[]) {
    const fields = new Map<string, unknown>();
    for (let at = 0; at < pairs.length; at += 2) fields.set(String(pairs[at]), pairs[at + 1]);
    // names that differ in case alone are found as well
    if (String(fields.get('library_name')) === name) return fields.get('library_code') as Buffer;
  }
  return undefined;
}

/** What is asked of a namespace for it; undefined: nothing. `codes` is what the source has then. */
function changeOf(
  [, subcommand, ...args]: readonly Buffer[],
  codes: Map<string, Buffer>,
): readonly unknown[] | undefined {
  switch (subcommand?.toString('latin1').toUpperCase()) {
    case 'LOAD': {
      const code = Buffer.from(args.at(-1) ?? '');
      const metadata = parseMetadata(code);
      if (metadata.ok) codes.set(metadata.name, code);
      return ['LOAD', 'REPLACE', code];
    }
    case 'DELETE':
      codes.delete(String(args[0]));
      return ['DELETE', args[0]];
    case 'FLUSH':
      codes.clear();
      return ['FLUSH'];
    case 'RESTORE': {
      const [payload = Buffer.alloc(0), policy] = args;
      const isFlush = policy?.toString('latin1').toUpperCase() === 'FLUSH';
      if (isFlush) codes.clear();
      const decoded = finished(decodeLibraries(payload));
      for (const code of decoded.ok ? decoded.codes : []) {
        const metadata = parseMetadata(code);
        if (metadata.ok) codes.set(metadata.name, Buffer.from(code));
      }
      return ['RESTORE', payload, isFlush ? 'FLUSH' : 'REPLACE'];
    }
    default:
      return undefined;
  }
}

function conflict(name: string, what: string): KvorumError {
  return new KvorumError(
    'CONFLICT',
    `the library of functions ${name} ${what}: say --functions replace to have the file's, ` +
      '--functions skip to keep what is there, or --functions none to leave out all of them',
  );
}

function stopped(name: string, failure: unknown): unknown {
  if (!(failure instanceof ClientError)) return failure;
  const text =
    `the import stops at the library of functions ${name}: ${failure.message} ` +
    '(--functions none leaves out all of them)';
  return new KvorumError('STORE_UNAVAILABLE', text, { cause: failure });
}

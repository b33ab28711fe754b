/**
 * What strace saw of one process, as one history: every operation on the files below a directory
 * and every write to a socket, with the moments it began and ended (lines of the trace). A write
 * counts as synced only by a sync that began after it had ended.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** The system calls to trace: all that change files, and writes to sockets. */
export const tracedCalls = [
  ...['openat', 'write', 'pwrite64', 'writev', 'pwritev', 'fsync', 'fdatasync', 'ftruncate'],
  ...['fallocate', 'rename', 'renameat', 'renameat2', 'unlink', 'unlinkat', 'mkdir', 'mkdirat'],
  ...['rmdir', 'link', 'linkat', 'symlink', 'truncate', 'sync', 'syncfs', 'sync_file_range'],
];

interface Span {
  readonly began: number;
  readonly ended: number;
}

export type FileOp = Span &
  (
    | { readonly kind: 'create'; readonly path: string; readonly truncates: boolean }
    | { readonly kind: 'mkdir' | 'remove'; readonly path: string }
    | { readonly kind: 'rename'; readonly path: string; readonly to: string }
    | { readonly kind: 'truncate'; readonly path: string; readonly size: number }
    /** `offset` undefined: at the end. */
    | {
        readonly kind: 'write';
        readonly path: string;
        readonly offset: number | undefined;
        readonly bytes: Buffer;
        /** Through a descriptor whose writes are synced: durable when it has ended. */
        readonly synced: boolean;
      }
    | { readonly kind: 'sync'; readonly path: string }
  );

export interface Sent extends Span {
  /** As strace names it: `TCP:[here->there]`. */
  readonly socket: string;
  readonly bytes: Buffer;
}

export interface History {
  /** In the order in which they ended; directories in that in which they were begun. */
  readonly files: readonly FileOp[];
  readonly sent: readonly Sent[];
  /** One past the last moment. */
  readonly end: number;
}

const CALL = /^(\d+) +(\w+)\((.*)$/;
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>(.*)$/;
const UNFINISHED = / <unfinished \.\.\.>$/;

export async function readHistory(file: string, dir: string): Promise<History> {
  const files: FileOp[] = [];
  const sent: Sent[] = [];
  const synced: Synced = new Set();
  const open = new Map<string, { readonly began: number; readonly args: string }>();
  let at = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    at++;
    const call = CALL.exec(line);
    if (call !== null && UNFINISHED.test(line)) {
      open.set(call[1]!, { began: at, args: call[3]!.replace(UNFINISHED, '') });
      continue;
    }
    const resumed = call === null ? RESUMED.exec(line) : null;
    const whole = call ?? resumed;
    if (whole === null) continue;
    const [, thread, name, rest] = whole as unknown as [string, string, string, string];
    const before = resumed === null ? undefined : open.get(thread);
    if (resumed !== null) open.delete(thread);
    take(name, (before?.args ?? '') + rest, { began: before?.began ?? at, ended: at });
  }
  // what was under way when the process ended may have happened
  files.sort((a, b) => placeOf(a) - placeOf(b));
  return { files, sent, end: at + 1 };

  function take(name: string, text: string, span: Span): void {
    const result = Number.parseInt(text.slice(text.lastIndexOf(' = ') + 3), 10);
    if (!(result >= 0)) return; // it failed, or its process ended before it did
    const op = decode(name, text, result, synced);
    if (op === undefined) return;
    if ('socket' in op) sent.push({ ...op, ...span });
    else if (isBelow(op.path)) files.push({ ...op, ...span });
  }

  function isBelow(path: string): boolean {
    return path === dir || path.startsWith(`${dir}/`);
  }
}

/** Another thread may have gone on in a directory before its maker was seen to have ended. */
function placeOf({ kind, began, ended }: FileOp): number {
  return kind === 'mkdir' ? began : ended;
}

/** Descriptors opened with O_DSYNC, `<number><path>` as strace writes them. */
type Synced = Set<string>;

type Bare<T> = T extends Span ? Omit<T, keyof Span> : never;

function decode(
  name: string,
  text: string,
  result: number,
  synced: Synced,
): Bare<FileOp> | Bare<Sent> | undefined {
  switch (name) {
    case 'openat':
      noteSynced(text, synced);
      return decodeOpen(text);
    case 'write':
    case 'writev':
    case 'pwrite64':
      return decodeWrite(name, text, result, synced);
    case 'fsync':
    case 'fdatasync':
      return { kind: 'sync', path: fileOf(text) ?? '' };
    case 'ftruncate':
      return { kind: 'truncate', path: fileOf(text) ?? '', size: lastNumber(text) };
    case 'rename': {
      const [path, to] = stringsOf(text);
      return { kind: 'rename', path: path!.toString(), to: to!.toString() };
    }
    case 'mkdir':
      return { kind: 'mkdir', path: stringsOf(text)[0]!.toString() };
    case 'unlink':
    case 'rmdir':
      return { kind: 'remove', path: stringsOf(text)[0]!.toString() };
    default:
      throw new Error(`the history does not know ${name}(${text.slice(0, 200)}`);
  }
}

function decodeOpen(text: string): Bare<FileOp> | undefined {
  const create = /O_CREAT/.test(text);
  const truncates = /O_TRUNC/.test(text);
  if (!create && !truncates) return undefined;
  return { kind: 'create', path: stringsOf(text)[0]!.toString(), truncates };
}

/** A number is given out anew once it was closed: then this opening says what it means. */
function noteSynced(text: string, synced: Synced): void {
  const descriptor = text.slice(text.lastIndexOf(' = ') + 3).trim();
  if (/\bO_D?SYNC\b/.test(text)) synced.add(descriptor);
  else synced.delete(descriptor);
}

function decodeWrite(
  name: string,
  text: string,
  result: number,
  synced: Synced,
): Bare<FileOp> | Bare<Sent> | undefined {
  const target = text.slice(0, text.indexOf(', '));
  const what = /^\d+<(.*)>(\(deleted\))?$/.exec(target);
  if (what === null || what[2] !== undefined) return undefined;
  const path = unescaped(what[1]!).toString();
  if (path.startsWith('anon_inode') || path.startsWith('pipe')) return undefined;
  const bytes = Buffer.concat(stringsOf(text)).subarray(0, result);
  if (path.startsWith('TCP')) return { socket: path, bytes };
  const offset = name === 'pwrite64' ? lastNumber(text) : undefined;
  return { kind: 'write', path, offset, bytes, synced: synced.has(target) };
}

/** The file behind the first argument, a descriptor; undefined when it is removed. */
function fileOf(text: string): string | undefined {
  const found = /^\d+<([^>]*)>(\(deleted\))?/.exec(text);
  return found === null || found[2] !== undefined ? undefined : unescaped(found[1]!).toString();
}

/** The last argument. */
function lastNumber(text: string): number {
  return Number(/(\d+)\s*\) += /.exec(text.slice(-200))![1]);
}

function stringsOf(text: string): Buffer[] {
  return [...text.matchAll(/"([^"]*)"(\.\.\.)?/g)].map(([, escaped, cut]) => {
    if (cut !== undefined) throw new Error('strace cut a string short');
    return unescaped(escaped!);
  });
}

/** strace -xx: `\x61\x62`; what is not escaped stands for itself. */
function unescaped(text: string): Buffer {
  return /^(?:\\x[0-9a-f]{2})*$/.test(text)
    ? Buffer.from(text.replaceAll('\\x', ''), 'hex')
    : Buffer.from(
        text.replace(/\\x([0-9a-f]{2})/g, (_, hex) =>
          String.fromCharCode(Number.parseInt(hex, 16)),
        ),
        'latin1',
      );
}

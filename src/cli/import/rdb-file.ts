/** An RDB file, or standard input, through a parser: events one after the other, and how far it is. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { KvorumError, messageOf } from '../../common/errors.ts';
import { type RdbEvent, RdbFileError } from './rdb/rdb-events.ts';
import { RdbParser } from './rdb/rdb-parser.ts';

const CHUNK_BYTES = 1_048_576;

export interface FileWalk {
  /** Undefined: the next may come at once. */
  take(event: RdbEvent): Promise<void> | undefined;
  /** Bytes that were read. */
  progress?(bytes: number): void;
}

/** `-` is standard input, whose size nobody knows. KvorumError BAD_ARGUMENT when there is no such file. */
export async function fileBytes(path: string): Promise<number | undefined> {
  if (path === '-') return undefined;
  const why = (text: string) => `${path} ${text}: name an RDB file, or - for standard input`;
  const found = await stat(path).catch((cause: unknown) => {
    throw new KvorumError('BAD_ARGUMENT', why(`cannot be read (${messageOf(cause)})`), { cause });
  });
  if (found.isDirectory()) throw new KvorumError('BAD_ARGUMENT', why('is a directory'));
  return found.size;
}

/** Resolves at the file's end, once its checksum was found right. Rejects with RdbFileError. */
export async function walkFile(path: string, walk: FileWalk): Promise<void> {
  const stream =
    path === '-' ? process.stdin : createReadStream(path, { highWaterMark: CHUNK_BYTES });
  await walkStream(stream, walk);
}

/** The same of any stream of bytes. */
export async function walkStream(stream: Readable, walk: FileWalk): Promise<void> {
  const parser = new RdbParser();
  for await (const chunk of stream) {
    parser.push(chunk as Buffer);
    await takeAll(parser, walk);
    walk.progress?.(parser.offset);
  }
  parser.close();
  await takeAll(parser, walk);
  walk.progress?.(parser.offset);
  const rest = parser.rest().length;
  if (rest === 0) return;
  const why = `${rest} bytes or more follow it, as commands do in an append-only file: they are not read`;
  throw new RdbFileError(parser.offset, "what comes behind the file's end", why);
}

async function takeAll(parser: RdbParser, { take }: FileWalk): Promise<void> {
  for (let event = parser.next(); event !== undefined; event = parser.next()) {
    const later = take(event);
    if (later !== undefined) await later;
  }
}

/**
 * A transaction as it travels and lies in the log: one line, so that it takes effect as one command.
 *
 *   EXEC <watch> <calls> <lines>
 *
 * `watch` is the token of the connection's WATCHes (empty: none), `calls` how many of them there
 * were; a leader that does not know them all answers nil. `lines`: u32 count, each: u32 arguments,
 * each: u32 length, bytes. The WATCH line is `WATCH <token> <key> …`.
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../common/bytes.ts';

type Line = readonly Buffer[];

export interface Watched {
  readonly token: string;
  /** WATCH commands sent under the token. */
  readonly calls: number;
}

const EXEC = Buffer.from('EXEC');
const NOT_WATCHED: Watched = { token: '', calls: 0 };

export function encodeExec(lines: readonly Line[], watched: Watched = NOT_WATCHED): Line {
  let bytes = 4;
  for (const line of lines) {
    bytes += 4;
    for (const argument of line) bytes += 4 + argument.length;
  }
  const writer = new ByteWriter(bytes).u32(lines.length);
  for (const line of lines) {
    writer.u32(line.length);
    for (const argument of line) writer.u32(argument.length).raw(argument);
  }
  return [EXEC, Buffer.from(watched.token), Buffer.from(String(watched.calls)), writer.finish()];
}

const BROKEN = Buffer.from('BROKEN');
/**
 * In the place of an EXEC whose watch is broken, where the log has to say whether it has been carried
 * out before.
 */
export const BROKEN_EXEC: Line = [...encodeExec([]), BROKEN];

export function isBrokenExec(line: Line): boolean {
  return line.length === BROKEN_EXEC.length && line.at(-1)!.equals(BROKEN);
}

/** The watch an EXEC line depends on. */
export function watchedOf([, token, calls]: Line): Watched {
  return { token: String(token ?? ''), calls: Number(String(calls ?? '0')) };
}

/** The commands of an EXEC line; undefined when it was not made by `encodeExec`. */
export function decodeExec([, , , body]: Line): readonly Line[] | undefined {
  const reader = new ByteReader(body ?? Buffer.alloc(0));
  try {
    const lines: Line[] = [];
    for (let left = reader.u32(); left > 0; left--) lines.push(readLine(reader));
    reader.end();
    return lines;
  } catch (failure) {
    if (failure instanceof ByteRangeError) return undefined;
    throw failure;
  }
}

function readLine(reader: ByteReader): Line {
  const args: Buffer[] = [];
  for (let left = reader.u32(); left > 0; left--) args.push(reader.raw(reader.u32()));
  if (args.length === 0) throw new ByteRangeError('a command without a name');
  return args;
}

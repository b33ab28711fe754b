/**
 * A transaction as it travels and lies in the log: one line, so that it takes effect as one command.
 *
 *   EXEC <watch> <calls> <lines>
 *
 * `watch` is the token of the connection's WATCHes (empty: none), `calls` how many of them there
 * were; a leader that does not know them all answers nil. `lines`: u32 count, each: u32 arguments,
 * each: u32 length, bytes. The WATCH line is `WATCH <token> <key> …`.
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../../common/bytes.ts';

type Line = readonly Buffer[];

export interface Watched {
  readonly token: string;
  /** WATCH commands sent under the token. */
  readonly calls: number;
}

const EXEC = Buffer.from('EXEC');
const NOT_WATCHED: Watched = { token: '', calls: 0 };

/** Puts an EXEC line together, command by command. */
export class ExecWriter {
  readonly #writer = new ByteWriter().u32(0);
  #count = 0;

  get bytes(): number {
    return this.#writer.length;
  }

  add(line: Line): void {
    this.#count++;
    this.#writer.u32(line.length);
    for (const argument of line) this.#writer.bytes(argument);
  }

  finish({ token, calls }: Watched = NOT_WATCHED): Line {
    this.#writer.patchU32(0, this.#count);
    return [EXEC, Buffer.from(token), Buffer.from(String(calls)), this.#writer.finish()];
  }
}

export function encodeExec(lines: readonly Line[], watched?: Watched): Line {
  const writer = new ExecWriter();
  for (const line of lines) writer.add(line);
  return writer.finish(watched);
}

const LETTER_E = 0x65;
const LOWER_CASE = 0x20;

/** `EXEC …`; the first letter spares other lines the comparison. */
export function isExecLine([name]: Line): boolean {
  if (name?.length !== EXEC.length || (name[0]! | LOWER_CASE) !== LETTER_E) return false;
  return name.toString('latin1').toUpperCase() === 'EXEC';
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
export function decodeExec(line: Line): readonly Line[] | undefined {
  try {
    return [...execLines(line)];
  } catch (failure) {
    if (failure instanceof ByteRangeError) return undefined;
    throw failure;
  }
}

/** The same one by one; throws ByteRangeError, at its end at the latest. */
export function* execLines([, , , body]: Line): Generator<Line, void, unknown> {
  const reader = new ByteReader(body ?? Buffer.alloc(0));
  for (let left = reader.u32(); left > 0; left--) yield readLine(reader);
  reader.end();
}

/** Those of them whose names are `wanted`: of the others nothing is made. Throws ByteRangeError as well. */
export function* execLinesOf(
  [, , , body]: Line,
  wanted: (name: Buffer) => boolean,
): Generator<Line, void, unknown> {
  const reader = new ByteReader(body ?? Buffer.alloc(0));
  // mostly the same
  let name: Buffer = Buffer.alloc(0);
  for (let left = reader.u32(); left > 0; left--) {
    let args = reader.u32();
    if (args === 0) continue;
    name = reader.bytesOr(name);
    const line = [name];
    const isWanted = wanted(name);
    while (--args > 0) {
      if (isWanted) line.push(reader.bytes());
      else reader.skip(reader.u32());
    }
    if (isWanted) yield line;
  }
}

/** The first `count` arguments of each; throws ByteRangeError as well. */
export function* execHeads([, , , body]: Line, count: number): Generator<Line, void, unknown> {
  const reader = new ByteReader(body ?? Buffer.alloc(0));
  for (let left = reader.u32(); left > 0; left--) {
    const head: Buffer[] = [];
    for (let args = reader.u32(); args > 0; args--) {
      if (head.length < count) head.push(reader.bytes());
      else reader.skip(reader.u32());
    }
    yield head;
  }
}

function readLine(reader: ByteReader): Line {
  const args: Buffer[] = [];
  for (let left = reader.u32(); left > 0; left--) args.push(reader.raw(reader.u32()));
  if (args.length === 0) throw new ByteRangeError('a command without a name');
  return args;
}

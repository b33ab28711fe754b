/** How much of a stream XADD and XTRIM keep (redis.io, XTRIM). */
import type { StreamId } from '../../encoding/records/stream-id.ts';
import type { OpenStream } from '../../encoding/streams/stream.ts';
import type { Trim } from '../../encoding/streams/stream-entries.ts';
import { countArgument, word } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';
import { idArgument } from './stream-args.ts';

/** Entries that Redis keeps together in a node by default (stream-node-max-entries). */
const NODE_ENTRIES = 100;
/** How many are looked at where `~` comes without LIMIT, as in Redis. */
const LIMIT_DEFAULT = 100 * NODE_ENTRIES;

/** What of a stream is kept: so many entries, or those from an ID on. */
export interface Kept {
  readonly by: { readonly size: number } | { readonly from: StreamId };
  /** `~`: only what is cheap to remove goes. */
  readonly about: boolean;
  /** How many go at most; 0: any number. */
  readonly limit: number;
}

/** Options are read one by one, since XADD's own stand between them. */
export class KeptOptions {
  #by: Kept['by'] | undefined;
  #about = false;
  #limit: number | undefined;

  /**
   * Reads the option at `at`, and returns the place of what follows it; undefined when it is none of
   * these. Throws ArgumentError.
   */
  read(args: readonly Buffer[], at: number): number | undefined {
    if (at + 1 >= args.length) return undefined;
    switch (word(args[at]!)) {
      case 'maxlen':
        return this.#readBound(args, at, (arg) => ({ size: sizeArgument(arg) }));
      case 'minid':
        return this.#readBound(args, at, (arg) => ({ from: idArgument(arg) }));
      case 'limit':
        this.#limit = limitArgument(args[at + 1]!);
        return at + 2;
      default:
        return undefined;
    }
  }

  /** Undefined: nothing is trimmed, which is an error where it is `required`. Errors in Redis's order. */
  result(required: boolean): Kept | undefined {
    const by = this.#by;
    if (by === undefined && this.#limit)
      throw syntax('LIMIT cannot be used without specifying a trimming strategy');
    if (by === undefined && required) throw syntax('XTRIM must be called with a trimming strategy');
    if (this.#limit !== undefined && !this.#about) {
      throw syntax('LIMIT cannot be used without the special ~ option');
    }
    const limit = this.#limit ?? (this.#about ? LIMIT_DEFAULT : 0);
    return by && { by, about: this.#about, limit };
  }

  #readBound(args: readonly Buffer[], at: number, boundOf: (arg: Buffer) => Kept['by']): number {
    if (this.#by !== undefined) {
      throw syntax('MAXLEN and MINID options at the same time are not compatible');
    }
    const mark = at + 2 < args.length ? args[at + 1]!.toString('latin1') : '';
    const isMarked = mark === '~' || mark === '=';
    this.#about = mark === '~';
    const boundAt = at + (isMarked ? 2 : 1);
    this.#by = boundOf(args[boundAt]!);
    return boundAt + 1;
  }
}

function syntax(text: string): ArgumentError {
  return new ArgumentError(`ERR syntax error, ${text}`);
}

function sizeArgument(arg: Buffer): number {
  const size = countArgument(arg);
  if (size < 0) throw new ArgumentError('ERR The MAXLEN argument must be >= 0.');
  return size;
}

function limitArgument(arg: Buffer): number {
  const limit = countArgument(arg);
  if (limit < 0) throw new ArgumentError('ERR The LIMIT argument must be >= 0.');
  return limit;
}

/** What has to go of a stream; undefined: nothing does. */
export function trimOf({ size }: OpenStream, { by, about, limit }: Kept): Trim | undefined {
  const excess = 'size' in by ? size - by.size : size;
  const count = limit > 0 ? Math.min(excess, limit) : excess;
  if (count <= 0) return undefined;
  const before = 'from' in by ? by.from : undefined;
  return { before, count, multiple: about ? NODE_ENTRIES : 1 };
}

/** How much of a stream XADD and XTRIM keep (redis.io, XTRIM). */
import type { StreamId } from '../../encoding/records/stream-id.ts';
import type { OpenStream } from '../../encoding/streams/stream.ts';
import type { PendingFate } from '../../encoding/streams/stream-references.ts';
import type { FatedTrim } from '../../encoding/streams/stream-trimming.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import { countArgument, word } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';
import { idArgument } from './stream-args.ts';
import { isFateWord } from './stream-fates.ts';

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
  readonly fate: PendingFate;
}

/** Options are read one by one, since XADD's own stand between them. */
export class KeptOptions {
  #by: Kept['by'] | undefined;
  #about = false;
  #limit: number | undefined;
  #fate: PendingFate | undefined;

  /**
   * Reads the option at `at`, and returns the place of what follows it; undefined when it is none of
   * these. Throws ArgumentError.
   */
  read(args: readonly Buffer[], at: number): number | undefined {
    const option = word(args[at]!);
    if (isFateWord(option) && this.#fate === undefined) {
      this.#fate = option;
      return at + 1;
    }
    if (at + 1 >= args.length) return undefined;
    switch (option) {
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
    return by && { by, about: this.#about, limit, fate: this.#fate ?? 'keepref' };
  }

  #readBound(args: readonly Buffer[], at: number, boundOf: (arg: Buffer) => Kept['by']): number {
    if (this.#by !== undefined) {
      throw syntax('MAXLEN and MINID options at the same time are not compatible');
    }
    const bound = boundAt(args, at);
    this.#about = bound.mark === '~';
    this.#by = boundOf(args[bound.at]!);
    return bound.at + 1;
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
export function trimOf(
  { size }: OpenStream,
  { by, about, limit, fate }: Kept,
): FatedTrim | undefined {
  const excess = 'size' in by ? size - by.size : size;
  const count = limit > 0 ? Math.min(excess, limit) : excess;
  if (count <= 0) return undefined;
  const before = 'from' in by ? by.from : undefined;
  return { before, count, multiple: about ? NODE_ENTRIES : 1, fate };
}

const OPTIONS_AT = 2;
const NINE = 0x39;

/** Most IDs begin with a digit, or are `*`: not to be looked for among options. */
export function isNoWord(arg: Buffer): boolean {
  return arg.length === 0 || arg[0]! <= NINE;
}

/** Builds before do not know the words for what is pending, which stand before XADD's ID. */
export function trimAppliesFrom(line: readonly Buffer[]): number {
  for (let at = OPTIONS_AT; at < line.length && !isNoWord(line[at]!); ) {
    const option = word(line[at]!);
    if (isFateWord(option)) return applyVersions.redis84;
    if (option === 'nomkstream') at++;
    else if (option === 'limit') at += 2;
    else if (option !== 'maxlen' && option !== 'minid') break;
    else at = boundAt(line, at).at + 1;
  }
  return applyVersions.streams;
}

/** Where the threshold of the option at `at` stands, and the mark before it. */
function boundAt(line: readonly Buffer[], at: number) {
  const mark = at + 2 < line.length ? line[at + 1]!.toString('latin1') : '';
  const isMarked = mark === '~' || mark === '=';
  return { mark, at: at + (isMarked ? 2 : 1) };
}

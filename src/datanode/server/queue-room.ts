/**
 * What a transaction may queue: as much as one request may bring, since its EXEC is one command, one
 * entry of the log and one frame between nodes, and until EXEC all of it lies in this node's memory.
 */
import { limits } from '../../common/limits.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { lineBytes } from '../partition/entries/envelope.ts';
import { growthOf } from '../partition/proposing/line-growth.ts';
import { ARGUMENT_BYTES } from '../resp/argument-memory.ts';
import { error, type Reply } from '../resp/reply.ts';

export class QueueRoom {
  #bytes = 0;
  #arguments = 0;
  /** Of values that are padded, by their keys: a bitmap in which a thousand bits are set is padded once. */
  readonly #growth = new Map<string, number>();
  #growthBytes = 0;

  /** What it takes in memory, near enough. */
  get heldBytes(): number {
    return this.#bytes + this.#arguments * ARGUMENT_BYTES;
  }

  /** Counts one more command; what it is answered when it does not fit, or undefined. */
  take(line: CommandLine): Reply | undefined {
    this.#bytes += lineBytes(line);
    this.#arguments += line.length;
    if (this.#bytes > limits.requestBytesMax) return tooMany('bytes', 'requestBytesMax');
    if (this.#arguments > limits.requestArgumentsMax) {
      return tooMany('arguments', 'requestArgumentsMax');
    }
    this.#pad(line);
    return this.#growthBytes > limits.execGrowthBytesMax ? padsTooMuch() : undefined;
  }

  #pad(line: CommandLine): void {
    const bytes = growthOf(line);
    if (bytes === 0) return;
    const key = line[1]!.toString('latin1');
    const before = this.#growth.get(key) ?? 0;
    if (bytes <= before) return;
    this.#growth.set(key, bytes);
    this.#growthBytes += bytes - before;
  }
}

function tooMany(what: string, bound: 'requestBytesMax' | 'requestArgumentsMax'): Reply {
  return error(
    `ERR the commands of a transaction have at most ${limits[bound]} ${what} together, as one request ` +
      `has (limits.${bound}): what was queued is dropped, send it in several transactions`,
  );
}

function padsTooMuch(): Reply {
  return error(
    `ERR the commands of a transaction pad values up to ${limits.execGrowthBytesMax} bytes together at most ` +
      '(limits.execGrowthBytesMax): what was queued is dropped, send it in several transactions',
  );
}

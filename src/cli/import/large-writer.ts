/**
 * A value that is too large for one command, written in chunks one after the other: others see it grow.
 * At the end its length is compared with what the file had.
 */
import { rdbTypes } from '../../datanode/encoding/rdb/rdb-decode.ts';
import type { Client } from '../../sdk/client.ts';
import type { KeyWriter } from './key-writer.ts';
import { stopped } from './key-writer.ts';
import { commandOf, countOf, type LengthCommand } from './part-commands.ts';
import { type KeyHead, keyText, type RdbPart } from './rdb/rdb-events.ts';
import type { Report } from './report.ts';

const CHUNK_ITEMS = 16_384;
const CHUNK_BYTES = 1_048_576;
/** Lines of one transaction: entries of a stream, and what is told of its groups. */
const CHUNK_LINES = 128;

const setTypes: ReadonlySet<number> = new Set([
  rdbTypes.set,
  rdbTypes.setIntset,
  rdbTypes.setListpack,
]);

type Line = readonly [name: string, ...args: unknown[]];

export class LargeWriter {
  readonly #client: Client;
  readonly #keys: KeyWriter;
  readonly #report: Report;
  readonly #head: KeyHead;
  #lines: Line[] = [];
  /** Arguments of the last line, to which more can be added. */
  #open: unknown[] | undefined;
  #items = 0;
  #bytes = 0;
  #written = 0;
  #length: { readonly name: LengthCommand; count: number } | undefined;
  #hasFieldDeadlines = false;
  #isLeft = false;

  constructor(client: Client, keys: KeyWriter, report: Report, head: KeyHead) {
    this.#client = client;
    this.#keys = keys;
    this.#report = report;
    this.#head = head;
  }

  /** Makes room for the value, or finds that there is none. */
  async begin(isReplaced: boolean): Promise<void> {
    const { key } = this.#head;
    const found = await this.#asked(isReplaced ? 'UNLINK' : 'EXISTS', key);
    if (!isReplaced && found !== 0) this.#isLeft = !this.#keys.existed(this.#head);
  }

  /** Undefined: there is room for more. */
  add(part: RdbPart): Promise<void> | undefined {
    if (this.#isLeft) return undefined;
    const { key, type } = this.#head;
    const isSet = setTypes.has(type);
    if (part.kind === 'ends' && this.#length === undefined) this.#lines.push(...emptyStream(key));
    const { joins, items, bytes, lines } = commandOf(key, part, isSet);
    const count = countOf(part, isSet);
    if (count !== undefined) {
      this.#length ??= { name: count, count: 0 };
      this.#length.count++;
    }
    if (part.kind === 'field' && part.deadlineMs > 0) this.#hasFieldDeadlines = true;
    if (joins !== undefined && this.#open !== undefined) this.#open.push(...joins);
    else {
      this.#lines.push(...lines);
      if (joins !== undefined) this.#open = this.#lines.at(-1) as unknown as unknown[];
    }
    this.#items += items;
    this.#bytes += bytes;
    const isFull = this.#items >= CHUNK_ITEMS || this.#lines.length >= CHUNK_LINES;
    return isFull || this.#bytes >= CHUNK_BYTES ? this.#flush() : undefined;
  }

  async end(refused: string | undefined): Promise<void> {
    if (this.#isLeft) return;
    const { key, offset } = this.#head;
    const name = `the key ${keyText(key)} (byte ${offset})`;
    if (refused !== undefined) {
      if (this.#written > 0) await this.#asked('UNLINK', key);
      return this.#report.refuse(name, refused);
    }
    await this.#flush();
    if (this.#length !== undefined && !this.#hasFieldDeadlines) {
      const there = await this.#asked(this.#length.name, key);
      const { count } = this.#length;
      if (there !== count) {
        return this.#report.refuse(name, `${there} elements are there, the file has ${count}`);
      }
    }
    this.#report.add('keys');
  }

  async #flush(): Promise<void> {
    const lines = this.#lines;
    if (lines.length === 0) return;
    const { key, deadlineMs } = this.#head;
    if (this.#written === 0 && deadlineMs !== undefined) {
      lines.push(['PEXPIREAT', key, deadlineMs]);
    }
    this.#written += lines.length;
    [this.#lines, this.#open, this.#items, this.#bytes] = [[], undefined, 0, 0];
    const [only] = lines;
    if (lines.length === 1 && only !== undefined) await this.#asked(...only);
    else await this.#transaction(lines);
  }

  async #transaction(lines: readonly Line[]): Promise<void> {
    const transaction = this.#client.multi();
    for (const [name, ...args] of lines) transaction.call(name, ...args);
    try {
      const results = await transaction.exec();
      for (const [failure] of results) if (failure !== null) throw failure;
      this.#countLost(
        lines,
        results.map(([, value]) => value),
      );
    } catch (failure) {
      throw stopped(this.#head, failure);
    }
  }

  /** What was pending of an entry that is not there any more nobody can claim. */
  #countLost(lines: readonly Line[], replies: readonly unknown[]): void {
    const lost = lines.filter(([name], at) => {
      const reply = replies[at];
      return name === 'XCLAIM' && Array.isArray(reply) && reply.length === 0;
    });
    if (lost.length === 0) return;
    const name = keyText(this.#head.key);
    this.#report.warn(`of the stream ${name} what is pending of deleted entries is left out`);
  }

  async #asked(...[name, ...args]: Line): Promise<unknown> {
    try {
      return await this.#client.call(name, ...args);
    } catch (failure) {
      throw stopped(this.#head, failure);
    }
  }
}

/** One without entries is made by a group, which is destroyed again. */
function emptyStream(key: Buffer): readonly Line[] {
  const group = 'kvorum-import';
  return [
    ['XGROUP', 'CREATE', key, group, 0, 'MKSTREAM'],
    ['XGROUP', 'DESTROY', key, group],
  ];
}

/**
 * Keys of an RDB file into one namespace. Small values leave many at a time: strings without a deadline
 * in one MSET for each partition, others each by itself.
 */
import { KvorumError } from '../../common/errors.ts';
import { RunningCrc64 } from '../../datanode/encoding/rdb/crc64.ts';
import { rdbTypes } from '../../datanode/encoding/rdb/rdb-decode.ts';
import { rdbVersions } from '../../datanode/encoding/rdb/rdb-payload.ts';
import type { Client } from '../../sdk/client.ts';
import { ClientError, ReplyError } from '../../sdk/errors.ts';
import type { Value } from '../../sdk/replies.ts';
import type { Flight } from './flight.ts';
import { type KeyHead, keyText } from './rdb/rdb-events.ts';
import type { Report } from './report.ts';

/** What becomes of keys that are there already. */
export type OnConflict = 'fail' | 'skip' | 'replace';

export const onConflicts: readonly OnConflict[] = ['fail', 'skip', 'replace'];

interface Batch {
  readonly heads: KeyHead[];
  readonly line: Buffer[];
  bytes: number;
}

const BATCH_KEYS = 64;
const BATCH_BYTES = 131_072;

export class KeyWriter {
  readonly #client: Client;
  readonly #flight: Flight;
  readonly #report: Report;
  readonly #onConflict: OnConflict;
  readonly #batches = new Map<number, Batch>();

  constructor(client: Client, flight: Flight, report: Report, onConflict: OnConflict) {
    this.#client = client;
    this.#flight = flight;
    this.#report = report;
    this.#onConflict = onConflict;
  }

  string(head: KeyHead, bytes: Buffer): void {
    const { key, deadlineMs } = head;
    const partition = this.#client.partitionOf(key);
    const size = key.length + bytes.length;
    if (deadlineMs !== undefined || partition === undefined || size > BATCH_BYTES) {
      return this.#alone(head, size, this.#setLine(head, bytes));
    }
    const batch = this.#batches.get(partition) ?? { heads: [], line: [], bytes: 0 };
    this.#batches.set(partition, batch);
    batch.heads.push(head);
    batch.line.push(key, bytes);
    batch.bytes += size;
    if (batch.heads.length < BATCH_KEYS && batch.bytes < BATCH_BYTES) return;
    this.#batches.delete(partition);
    this.#send(batch);
  }

  whole(head: KeyHead, body: Buffer): void {
    const { key, deadlineMs } = head;
    const replace = this.#onConflict === 'replace' ? ['REPLACE'] : [];
    const time = deadlineMs === undefined ? [0] : [deadlineMs];
    const rest = [...time, sealed(body), ...replace, 'ABSTTL'];
    this.#alone(head, key.length + body.length, ['RESTORE', key, ...rest]);
  }

  /** Sends what has been gathered. */
  flush(): void {
    const batches = [...this.#batches.values()];
    this.#batches.clear();
    for (const batch of batches) this.#send(batch);
  }

  /** Throws when keys that are there are a failure; false: this one is left as it is. */
  existed(head: KeyHead): false {
    if (this.#onConflict === 'skip') {
      this.#report.add('existed');
      return false;
    }
    throw new KvorumError(
      'CONFLICT',
      `the key ${keyText(head.key)} is there already: say --on-conflict replace to have the file's, ` +
        'or --on-conflict skip to keep what is there',
    );
  }

  #setLine({ key, deadlineMs }: KeyHead, bytes: Buffer): unknown[] {
    const time = deadlineMs === undefined ? [] : ['PXAT', deadlineMs];
    const condition = this.#onConflict === 'replace' ? [] : ['NX'];
    return ['SET', key, bytes, ...time, ...condition];
  }

  #alone(head: KeyHead, bytes: number, line: readonly unknown[]): void {
    this.#flight.add(bytes, this.#write(head, line));
  }

  async #write(head: KeyHead, line: readonly unknown[]): Promise<void> {
    const [name, ...args] = line;
    let reply: Value;
    try {
      reply = await this.#client.call(String(name), ...args);
    } catch (failure) {
      return this.#failed(head, failure);
    }
    if (reply === null) this.existed(head);
    else this.#report.add('keys');
  }

  #send({ heads, line, bytes }: Batch): void {
    this.#flight.add(bytes, this.#writeBatch(heads, line));
  }

  async #writeBatch(heads: readonly KeyHead[], line: readonly Buffer[]): Promise<void> {
    const isReplaced = this.#onConflict === 'replace';
    try {
      const reply = await this.#client.call(isReplaced ? 'MSET' : 'MSETNX', ...line);
      if (reply !== 0) return this.#report.add('keys', heads.length);
    } catch (failure) {
      // one of them may be the reason: that is told of it alone
      if (!(failure instanceof ReplyError)) return this.#failed(heads[0]!, failure);
    }
    const one = (head: KeyHead, at: number) =>
      this.#write(head, this.#setLine(head, line[2 * at + 1]!));
    await Promise.all(heads.map(one));
  }

  #failed(head: KeyHead, failure: unknown): void {
    if (failure instanceof ReplyError && failure.code === 'BUSYKEY') {
      this.existed(head);
    } else if (failure instanceof ReplyError && failure.code === 'ERR') {
      this.#report.refuse(`the key ${keyText(head.key)} (byte ${head.offset})`, failure.message);
    } else if (failure instanceof ClientError && failure.code === 'DONE') {
      this.#report.add('keys');
    } else throw stopped(head, failure);
  }
}

/** Of what no other key would fare better with. */
export function stopped(head: KeyHead, failure: unknown): Error {
  if (!(failure instanceof ClientError)) return failure as Error;
  return new KvorumError(
    'STORE_UNAVAILABLE',
    `the import stops at the key ${keyText(head.key)}: ${failure.message}; what came before it may ` +
      'be there: run it again with --on-conflict replace',
    { cause: failure },
  );
}

/** With the footer of a DUMP. */
export function sealed(body: Buffer): Buffer {
  const isNewer = body[0]! >= rdbTypes.hashMetadataEarly;
  const payload = Buffer.allocUnsafe(body.length + 10);
  body.copy(payload);
  const version = isNewer ? rdbVersions.withFieldDeadlines : rdbVersions.withoutFieldDeadlines;
  payload.writeUInt16LE(version, body.length);
  const sum = new RunningCrc64();
  sum.update(payload.subarray(0, body.length + 2));
  sum.digest().copy(payload, body.length + 2);
  return payload;
}

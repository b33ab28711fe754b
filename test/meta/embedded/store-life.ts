/** A LocalStore on a simulated disk that lives, crashes and lives again, in virtual time. */
import type { KvorumError } from '../../../src/common/errors.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { type Random, seededRandom } from '../../../src/common/random.ts';
import { LocalStore } from '../../../src/meta/embedded/local-store.ts';
import {
  compactRequestCodec,
  leaseGrantRequestCodec,
  putRequestCodec,
  type RangeRequest,
  rangeRequestCodec,
} from '../../../src/meta/embedded/messages.ts';
import { SimClock } from '../../sim/clock.ts';
import { SimDisk } from '../../sim/disk.ts';
import { Scheduler } from '../../sim/scheduler.ts';

export const DIR = 'driver/meta';

export class StoreLife {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly disk: SimDisk;
  /** What its stores told of their disk. */
  readonly failures: KvorumError[] = [];
  clock: SimClock;

  constructor(seed: string) {
    this.random = seededRandom(seed);
    this.scheduler = new Scheduler(this.random);
    this.clock = new SimClock(this.scheduler);
    const latencyMs = { read: 0.05, write: 0.1, sync: 0.5, name: 0.1 };
    const clock = new SimClock(this.scheduler);
    this.disk = new SimDisk({ random: this.random.fork('disk'), clock, latencyMs });
  }

  open(): Promise<LocalStore> {
    const { clock, random } = this;
    const disk = this.disk.session();
    const onFailure = (failure: KvorumError) => this.failures.push(failure);
    const logger = silentLogger;
    return this.until(LocalStore.open({ disk, dir: DIR, clock, random, logger, onFailure }));
  }

  /** The process is gone, and with `os` what was not synced may be too. */
  crash(kind: 'process' | 'os'): void {
    this.clock.kill();
    this.disk.crash(kind);
    this.clock = new SimClock(this.scheduler);
  }

  /** Runs virtual time until the promise settles; throws when it does not within a minute. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const done = () => {
      settled = true;
    };
    promise.then(done, done);
    const inTime = await this.scheduler.runUntil(() => settled, 60_000);
    if (!inTime) throw new Error('not settled within a minute of virtual time');
    return promise;
  }

  async pass(ms: number): Promise<void> {
    await this.scheduler.run(this.scheduler.nowMs + ms);
  }

  /** Puts and waits until it is durable. */
  put(store: LocalStore, key: string, value: string | Buffer, lease = 0): Promise<unknown> {
    return this.until(put(store, key, value, lease));
  }

  async bytesOf(name: string): Promise<Buffer> {
    const file = await this.until(this.disk.open(`${DIR}/${name}`, 'read'));
    return file.preadSync(0, await file.size());
  }

  async write(name: string, bytes: Buffer): Promise<void> {
    const file = await this.until(this.disk.open(`${DIR}/${name}`, 'write'));
    await this.until(file.pwrite(0, bytes));
    await this.until(file.fdatasync());
    await this.until(file.close());
  }

  names(): Promise<string[]> {
    return this.until(this.disk.list(DIR));
  }
}

export function put(store: LocalStore, key: string, value: string | Buffer, lease = 0) {
  const request = { key: Buffer.from(key), value: Buffer.from(value), lease };
  return store.execute('put', putRequestCodec.encode(request));
}

export function grant(store: LocalStore, id: number, ttl: number) {
  return store.execute('grant', leaseGrantRequestCodec.encode({ id, ttl }));
}

export function compact(store: LocalStore, revision: number) {
  return store.execute('compact', compactRequestCodec.encode({ revision }));
}

export function rangeOf(key: string, rangeEnd = '', rest: Partial<RangeRequest> = {}) {
  const range = { key: Buffer.from(key), rangeEnd: Buffer.from(rangeEnd), ...rest };
  return rangeRequestCodec.decode(rangeRequestCodec.encode(range));
}

/** Everything the store holds, by key. */
export function contentsOf(store: LocalStore): Record<string, string> {
  const { kvs } = store.state.range(rangeOf('\0', '\0'));
  return Object.fromEntries(kvs.map(({ key, value }) => [key.toString(), value.toString()]));
}

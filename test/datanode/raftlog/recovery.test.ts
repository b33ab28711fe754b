/** Random histories on the simulated disk with crashes at any point, judged by a model. */
import { describe, expect, test } from 'vitest';
import { type KvorumError, messageOf } from '../../../src/common/errors.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { type Random, seededRandom } from '../../../src/common/random.ts';
import {
  alignToSector,
  BATCH_HEADER_BYTES,
  decodeBatchHeader,
  decodeRecords,
} from '../../../src/datanode/raftlog/format.ts';
import type { LogAppend, RaftLog } from '../../../src/datanode/raftlog/raft-log.ts';
import { openSharedLog } from '../../../src/datanode/raftlog/shared-log.ts';
import { scale } from '../../scale.ts';
import { SimDisk } from '../../sim/disk.ts';
import { digestOf, LogModel, randomPart } from './log-model.ts';
import { ManualClock } from './manual-clock.ts';

const counters = { crashes: 0, copies: 0, segments: 0, lostParts: 0, failures: 0, opensCut: 0 };

class History {
  readonly random: Random;
  readonly clock = new ManualClock();
  readonly disk: SimDisk;
  model = new LogModel();
  /** Digest of the model after each part appended in this life; the first is how it began. */
  digests: string[] = [];
  durable = 0;
  /** The newest batch that any life has called durable: no crash takes it, so no opening is refused for it. */
  knownSeq = 0;
  failure: KvorumError | undefined;

  constructor(seed: number) {
    this.random = seededRandom(`raftlog ${seed}`);
    this.disk = new SimDisk({
      random: this.random.fork('disk'),
      clock: this.clock,
      latencyMs: { read: 0.05, write: 0.1, sync: 0.5, name: 0.1 },
    });
  }

  async open(): Promise<RaftLog> {
    this.failure = undefined;
    const opening = openSharedLog({
      disk: this.disk.session(),
      dir: 'node/raftlog',
      clock: this.clock,
      logger: silentLogger,
      segmentBytes: 16 * 1024,
      knownSeq: this.knownSeq,
      cacheBytes: this.random.below(2) * 2_000,
      onFailure: (error) => {
        expect(this.failure, 'onFailure is told once').toBeUndefined();
        this.failure = error;
        counters.failures++;
      },
    });
    return this.clock.until(opening);
  }

  /** Opens, sometimes crashing on the way, and finds which part was the last to survive. */
  async recover(): Promise<RaftLog> {
    while (this.random.below(4) === 0) {
      const opening = openSharedLog({
        disk: this.disk.session(),
        dir: 'node/raftlog',
        clock: this.clock,
        logger: silentLogger,
        segmentBytes: 16 * 1024,
        knownSeq: this.knownSeq,
        onFailure: () => {},
      });
      opening.catch(() => {});
      await this.clock.steps(this.random.below(30));
      this.crash(this.random.below(2) === 0 ? 'os' : 'process');
      counters.opensCut++;
    }
    const log = await this.open();
    const found = digestOf(log);
    const survived = this.digests.lastIndexOf(found);
    if (survived < 0) expect(found).toBe(this.digests.at(-1)); // shows the difference
    expect(survived, 'everything reported durable is there').toBeGreaterThanOrEqual(this.durable);
    counters.lostParts += this.digests.length - 1 - survived;
    this.model = LogModel.parse(found);
    this.digests = [found];
    this.durable = 0;
    return log;
  }

  /** Copies of cold entries that the files hold now. */
  async countCopies(): Promise<number> {
    let copies = 0;
    for (const name of await this.clock.until(this.disk.list('node/raftlog'))) {
      const file = await this.clock.until(this.disk.open(`node/raftlog/${name}`, 'read'));
      const bytes = file.preadSync(0, await file.size());
      for (let at = 0; at < bytes.length; ) {
        const header = decodeBatchHeader(bytes, at);
        if (typeof header === 'string' || 'unknownVersion' in header) break;
        const end = at + BATCH_HEADER_BYTES + header.payloadBytes;
        decodeRecords(bytes, at + BATCH_HEADER_BYTES, end, (record) => {
          if (record.kind === 'moved') copies++;
        });
        at = alignToSector(end);
      }
    }
    return copies;
  }

  crash(kind: 'os' | 'process'): void {
    this.disk.crash(kind);
    this.clock.clear();
    counters.crashes++;
  }

  append(log: RaftLog, part: LogAppend): void {
    this.model.apply(part);
    this.digests.push(this.model.digest());
    const number = this.digests.length - 1;
    log.append(part, () => {
      expect(this.failure, 'nothing is durable after a failure').toBeUndefined();
      expect(number, 'in the order of the calls').toBe(this.durable + 1);
      this.durable = number;
    });
  }
}

async function live(history: History, log: RaftLog): Promise<'closed' | 'crashed'> {
  const { random } = history;
  const parts = 20 + random.below(120);
  const cold = random.below(6); // replicas with small ids are left alone after their start
  if (random.below(6) === 0) {
    const operation = (['pwrite', 'fdatasync', 'syncDir', 'open'] as const)[random.below(4)]!;
    history.disk.failNext(operation, { skip: random.below(40), path: 'raftlog' });
  }
  for (let i = 0; i < parts && history.failure === undefined; i++) {
    history.append(log, randomPart(history.model, random, cold));
    if (random.below(3) === 0) await history.clock.steps(random.below(8));
    if (random.below(40) === 0) await history.clock.steps(60);
    if (history.failure === undefined && random.below(10) === 0) {
      expect(digestOf(log)).toBe(history.model.digest());
    }
  }
  counters.segments = Math.max(counters.segments, log.stats().segments);
  if (history.failure !== undefined || random.below(4) > 0) {
    await history.clock.steps(random.below(12));
    history.knownSeq = Math.max(history.knownSeq, log.durableSeq);
    history.crash(random.below(3) > 0 ? 'os' : 'process');
    return 'crashed';
  }
  try {
    await history.clock.until(log.close());
  } catch (error) {
    throw new Error(`close: ${messageOf(error)}`);
  }
  if (history.failure === undefined) {
    expect(history.durable).toBe(history.digests.length - 1);
  }
  history.knownSeq = Math.max(history.knownSeq, log.durableSeq);
  history.disk.forgetFaults(); // a fault of this life must not meet the next one's opening
  if (random.below(2) === 0) history.crash('os');
  return 'closed';
}

async function runHistory(seed: number, lives: number): Promise<void> {
  const history = new History(seed);
  let log = await history.open();
  history.digests = [history.model.digest()];
  for (let life = 0; life < lives; life++) {
    await live(history, log);
    log = await history.recover();
  }
  await history.clock.until(log.close());
  counters.copies += await history.countCopies();
}

const timeoutMs = 60_000 + 1_000 * scale.raftLogSeeds;

describe('recovery', () => {
  test(
    'after any history and crash the log is a prefix that holds all reported durable',
    async () => {
      for (let seed = 1; seed <= scale.raftLogSeeds; seed++) {
        try {
          await runHistory(seed, 5);
        } catch (error) {
          throw new Error(`seed ${seed}: ${messageOf(error)}`, { cause: error });
        }
      }
      console.log('raft log histories:', JSON.stringify(counters));
      expect(counters.crashes).toBeGreaterThan(scale.raftLogSeeds);
      expect(counters.lostParts).toBeGreaterThan(0);
      expect(counters.copies).toBeGreaterThan(scale.raftLogSeeds);
      expect(counters.failures).toBeGreaterThan(0);
    },
    timeoutMs,
  );
});

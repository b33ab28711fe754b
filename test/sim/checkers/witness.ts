/**
 * A witness runs each group's log once more, from nothing: the product's own apply on an engine of
 * its own, one entry per batch. Whatever way a replica came to an index (entry by entry, in large
 * batches, after a crash, by a snapshot), it holds then what the witness holds there.
 */
import type { Clock } from '../../../src/common/clock.ts';
import type { GroupId, LogIndex, Namespace } from '../../../src/common/ids.ts';
import { STATE_KEY } from '../../../src/datanode/encoding/records/system.ts';
import { createView } from '../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../src/datanode/engine/memory.ts';
import { Applier } from '../../../src/datanode/partition/applying/applier.ts';
import { KeyEventGate } from '../../../src/datanode/partition/applying/key-event-gate.ts';
import type { Served } from '../../../src/datanode/partition/applying/serving.ts';
import { decodeEnvelope } from '../../../src/datanode/partition/entries/envelope.ts';
import { decodeState } from '../../../src/datanode/partition/storage/state.ts';
import { Pace } from '../../../src/datanode/partition/turns/pace.ts';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import type { Entry } from '../../../src/datanode/raft/message.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import type { SimCluster } from '../cluster.ts';
import { hashOf } from '../engine.ts';
import { ObservableHash, pairHash } from '../observable-hash.ts';
import type { Sent } from '../typed.ts';
import { type Checker, type Observed, Violation } from './checker.ts';
import { isEmptying } from './emptying.ts';
import { didRun, linesOf, waitersOf } from './entry-lines.ts';
import { OpenReads, readsOf, type State, stateRule } from './open-reads.ts';
import { QueueModel } from './queue-model.ts';
import { TimeLeft } from './time-left.ts';

/** One command of the log, or one that was served within an entry, and what it answers. */
export interface Applied {
  readonly line: readonly Buffer[];
  readonly reply: Reply;
  /** When the first replica had applied it: not before anybody was answered. */
  readonly atMs: number;
}

interface Seen {
  readonly entry: Entry;
  readonly atMs: number;
}

interface Stand {
  readonly node: string;
  readonly hash: number;
}

interface Group {
  readonly slots: { readonly firstSlot: number; readonly lastSlot: number };
  readonly entries: Map<LogIndex, Seen>;
  readonly stands: Map<LogIndex, Stand[]>;
  last: LogIndex;
}

/** The state every group begins with stands for an entry 1 that no log holds. */
const BIRTH = { index: 1, term: 1, timeMs: 0, epoch: 1, confState: EMPTY_CONF };

export class Witness implements Checker {
  readonly name = 'witness';
  readonly #groups = new Map<GroupId, Group>();
  readonly #seen = new WeakMap<object, LogIndex>();

  onMoved(observed: Observed, cluster: SimCluster): void {
    const { record } = observed.replica;
    const { firstSlot, lastSlot } = record;
    const group = this.#groups.get(observed.group) ?? {
      slots: { firstSlot, lastSlot },
      entries: new Map(),
      stands: new Map(),
      last: BIRTH.index,
    };
    this.#groups.set(observed.group, group);
    this.#noteEntries(group, observed, cluster.scheduler.nowMs);
    noteStand(group, observed);
  }

  /**
   * Throws Violation; returns the commands of all logs with their replies. Of `sent` the reads are
   * judged on the way: each must have been answered from a state of its time. With `flushes` no
   * queue is followed. Of two leaders' clocks the one may be behind the other by `apartMs`.
   */
  async run(
    clock: Clock,
    sent: readonly Sent[],
    { flushes, apartMs }: { readonly flushes: boolean; readonly apartMs: number },
  ): Promise<Applied[]> {
    const applied: Applied[] = [];
    for (const [id, group] of this.#groups) {
      const times = firstTimes(group);
      const timeLeft = new TimeLeft(apartMs);
      const open = [stateRule, timeLeft].map(
        (rule) => new OpenReads(readsOf(sent, group.slots, rule), times, rule),
      );
      applied.push(...(await replay(id, group, clock, open, flushes)));
      timeLeft.end(id);
    }
    return applied;
  }

  #noteEntries(group: Group, { replica }: Observed, atMs: number): void {
    const { log } = replica.inspect();
    const until = replica.appliedIndex;
    const from = Math.max(log.firstIndex(), (this.#seen.get(replica) ?? 0) + 1);
    for (let index = from; index <= until; index++) {
      if (group.entries.has(index)) continue;
      const found = log.entries(index, index + 1, Number.MAX_SAFE_INTEGER);
      const entry = found === 'compacted' ? undefined : found[0];
      if (entry !== undefined) group.entries.set(index, { entry, atMs });
    }
    this.#seen.set(replica, until);
    group.last = Math.max(group.last, until);
  }
}

/** What the replica holds, beside its own state: that names its term and members, too. */
function noteStand(group: Group, observed: Observed): void {
  const { replica, node } = observed;
  const index = replica.appliedIndex;
  const { engine } = replica.inspect();
  const state = engine.getSync(STATE_KEY);
  if (index === 0 || state === undefined) return;
  const opened = createView(engine).get(STATE_KEY)!;
  // a batch may be in the engine a moment before its replica is told
  if (decodeState(opened, node).index !== index || isEmptying(observed)) return;
  const hash = hashOf(engine) ^ pairHash(STATE_KEY, state);
  const stands = group.stands.get(index) ?? [];
  group.stands.set(index, stands);
  if (!stands.some((stand) => stand.hash === hash)) stands.push({ node, hash });
}

async function replay(
  id: GroupId,
  group: Group,
  clock: Clock,
  open: readonly OpenReads[],
  flushes: boolean,
): Promise<Applied[]> {
  const copy = await openCopy(group, clock);
  const applied: Applied[] = [];
  const givenTo = new Map<string, string>();
  const queues = new QueueModel();
  compare(id, group, BIRTH.index, copy.hash());
  for (const reads of open) await reads.judge(BIRTH.index, copy);
  for (let index = BIRTH.index + 1; index <= group.last; index++) {
    const seen = group.entries.get(index);
    if (seen === undefined) {
      throw new Violation('witness', `group ${id} index ${index}: no replica showed its entry`);
    }
    const { replies, served } = await copy.apply(seen.entry);
    compare(id, group, index, copy.hash());
    for (const reads of open) await reads.judge(index, copy);
    const { data, kind } = seen.entry;
    const body = kind === 'normal' && data.length > 0 ? decodeEnvelope(data).body : undefined;
    if (body?.family === 'redis' && !flushes) {
      queues.judge(body, replies, served, `group ${id} index ${index}`);
    }
    const lines = kind === 'normal' && data.length > 0 ? linesOf(data) : [];
    for (const [at, line] of lines.entries()) {
      const reply = replies[at]!;
      if (didRun(line, reply)) applied.push({ line, reply, atMs: seen.atMs });
    }
    for (const { id: waiter, reply } of served) {
      const line = waitersOf(data).find((one) => one.id.equals(waiter))!.line;
      applied.push({ line, reply, atMs: seen.atMs });
      noteServed(givenTo, waiter, `group ${id} index ${index}: ${line.join(' ')}`);
    }
  }
  for (const reads of open) reads.end(id);
  return applied;
}

/** Whoever blocked is served once, whatever entries carry the request. */
function noteServed(known: Map<string, string>, waiter: Buffer, where: string): void {
  const name = waiter.toString('hex');
  const other = known.get(name);
  known.set(name, where);
  if (other === undefined) return;
  throw new Violation('replies', `one client was served twice: ${other}, and ${where}`);
}

/** By index, from 0 on: when it had been applied somewhere, so what was before it had been, too. */
function firstTimes({ entries, last }: Group): number[] {
  const times = Array.from({ length: last + 1 }, (_, index) => entries.get(index)?.atMs ?? 0);
  for (let index = last; index > BIRTH.index; index--) {
    times[index - 1] = Math.min(times[index - 1]!, times[index]!);
  }
  return times;
}

function compare(id: GroupId, group: Group, index: LogIndex, hash: number): void {
  for (const stand of group.stands.get(index) ?? []) {
    if (stand.hash === hash) continue;
    const text = `group ${id} index ${index}: ${stand.node} held other data than its log gives`;
    throw new Violation('witness', `${text}\n${lastLines(group, index)}`);
  }
}

/** What was applied just before, for the report. */
function lastLines(group: Group, until: LogIndex): string {
  const shown: string[] = [];
  for (let index = Math.max(2, until - 8); index <= until; index++) {
    const { kind, data } = group.entries.get(index)!.entry;
    const lines = kind === 'normal' && data.length > 0 ? linesOf(data) : [];
    shown.push(`  ${index}: ${lines.map((line) => line.join(' ')).join('; ') || '(own)'}`);
  }
  return shown.join('\n');
}

interface Outcome {
  readonly replies: readonly Reply[];
  readonly served: readonly Served[];
}

interface Copy extends State {
  apply(entry: Entry): Promise<Outcome>;
  hash(): number;
}

async function openCopy({ slots }: Group, clock: Clock): Promise<Copy> {
  const { engine } = await createMemoryHost().open('1-0');
  const hash = new ObservableHash();
  let outcome: Outcome = { replies: [], served: [] };
  let fault: unknown;
  const applier = new Applier(clock, hashed(engine, hash), BIRTH, slots, {
    // the run is over, and with it everybody else's turns
    pace: new Pace({ monotonicMs: () => 0, endOfTurn: (run) => void Promise.resolve().then(run) }),
    mayGather: () => false,
    applyConfChange: () => EMPTY_CONF,
    onClear: () => {},
    onApplied: (entries) => {
      outcome = {
        replies: entries.flatMap((entry) => entry.replies),
        served: entries.flatMap(({ served }) => served ?? []),
      };
    },
    keyEvents: new KeyEventGate(undefined, '' as Namespace, () => ({ isLeader: false, term: 0 })),
    onFault: (error) => {
      fault = error;
    },
  });
  return {
    engine,
    timeMs: () => applier.state.timeMs,
    slots,
    apply: async (entry) => {
      outcome = { replies: [], served: [] };
      applier.enqueue([entry], () => {});
      await applier.whenIdle();
      await engine.sync(); // it keeps every state since the last
      if (fault !== undefined) throw fault;
      return outcome;
    },
    hash: () => {
      const state = engine.getSync(STATE_KEY);
      return hash.value ^ (state === undefined ? 0 : pairHash(STATE_KEY, state));
    },
  };
}

/** Keeps `hash` up to date with what is written. */
function hashed(engine: Engine, hash: ObservableHash): Engine {
  const read = (key: Buffer) => engine.getSync(key);
  return {
    getSync: read,
    iterate: (range) => engine.iterate(range),
    snapshot: () => engine.snapshot(),
    approximateBytes: () => engine.approximateBytes(),
    sync: () => engine.sync(),
    close: () => engine.close(),
    write: (operations) => {
      hash.change(read, operations);
      return engine.write(operations);
    },
    clearRange: async (range) => {
      const iterator = engine.iterate(range);
      for (;;) {
        const pairs = await iterator.next(1_000);
        if (pairs.length === 0) break;
        hash.change(
          read,
          pairs.map(([key]) => ({ type: 'del', key })),
        );
      }
      await iterator.close();
      await engine.clearRange(range);
    },
  };
}

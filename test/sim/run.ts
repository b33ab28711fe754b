/**
 * One run of a plan: a safety phase under faults, then a liveness phase in which faults are over, a
 * quorum of each group is there, and everything must converge. Checked after every step.
 */
import { messageOf } from '../../src/common/errors.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { beginAbsence, drawAbsent } from './absence.ts';
import { type Call, isSet, textOf } from './call.ts';
import { checkCaches, checkQuietCaches } from './checkers/caches.ts';
import { Violation } from './checkers/checker.ts';
import { checkElements } from './checkers/elements.ts';
import { checkHistory } from './checkers/history.ts';
import { checkOutcomes } from './checkers/outcomes.ts';
import { checkReplies } from './checkers/replies.ts';
import { checkCounts, checkPushes } from './checkers/sdk-once.ts';
import { checkShownExpired, isExpiring } from './checkers/shown-expired.ts';
import { checkStaleReads } from './checkers/stale-reads.ts';
import { checkTableScans } from './checkers/table-scans.ts';
import { Witness } from './checkers/witness.ts';
import { SimClient } from './client.ts';
import { GATEWAY_PORT, SimCluster } from './cluster.ts';
import { beginFault } from './faults.ts';
import { Judge } from './judge.ts';
import type { FaultKind, RunPlan } from './plan.ts';
import { ANSWER_MS, Scene, type Script } from './scenarios/scene.ts';
import { isList } from './sdk-process.ts';
import { setTraps } from './traps.ts';
import { queueKeys, queueSet, type Waits, waitsOf } from './typed.ts';
import { describe, isLed, isWhole } from './whole.ts';
import { Workload } from './workload.ts';

/** By their names: lists, sets, and texts. */
function readOf(key: string): string[] {
  if (isList(key)) return ['LRANGE', key, '0', '-1'];
  return isSet(key) ? ['SMEMBERS', key] : ['GET', key];
}

export interface RunResult {
  readonly plan: RunPlan;
  readonly trace: string;
  readonly events: number;
  readonly simulatedMs: number;
  readonly acknowledged: number;
  readonly calls: number;
  readonly undecided: number;
  /** Nodes that were away while each group had a quorum. */
  readonly absent: number;
  /** Of clients that blocked. */
  readonly waits: Waits;
  readonly faults: ReadonlyMap<FaultKind, number>;
  /** Which checker found what; undefined when all is well. */
  readonly violation: { readonly checker: string; readonly text: string } | undefined;
  /** The last lines the cluster logged. */
  readonly lines: readonly string[];
}

const LIVENESS_MS = 60_000;
const OPERATOR_MS = 1_000;
/** So long after a write was acknowledged nobody keeps what it has overwritten. */
const CACHED_MS = 6_000;
/** Within this every node has heard from the store who leads. */
const TOLD_MS = 100;
/** Between looks at every replica, for what need not be seen in its first moment. */
const LOOK_MS = 5;

/**
 * `judged` false: runs the same events to the same trace, and nobody looks. `script` is played in the
 * place of the safety phase. `trapped` false: in a process that does other things as well.
 */
export async function runPlan(
  plan: RunPlan,
  judged = true,
  {
    script,
    trapped = true,
  }: { readonly script?: Script | undefined; readonly trapped?: boolean } = {},
): Promise<RunResult> {
  const release = trapped ? setTraps() : () => {};
  const run = new Run(plan, judged, script);
  const onRejection = (reason: unknown) => run.cluster.broken.push(`rejected: ${stackOf(reason)}`);
  process.on('unhandledRejection', onRejection);
  let violation: RunResult['violation'];
  try {
    await run.execute();
  } catch (error) {
    const checker = error instanceof Violation ? error.checker : 'crash';
    violation = { checker, text: error instanceof Violation ? messageOf(error) : stackOf(error) };
  } finally {
    process.off('unhandledRejection', onRejection);
    release();
  }
  const { cluster, workload, undecided, absent, faults } = run;
  const { traceHash, executed, nowMs } = cluster.scheduler;
  return {
    plan,
    trace: traceHash,
    events: executed,
    simulatedMs: nowMs,
    acknowledged: workload.acknowledged,
    calls: workload.history.length + workload.sent.length,
    undecided,
    absent,
    waits: waitsOf(workload.sent),
    faults,
    violation,
    lines: cluster.lines,
  };
}

class Run {
  readonly cluster: SimCluster;
  readonly workload: Workload;
  readonly faults = new Map<FaultKind, number>();
  undecided = 0;
  /** Nodes that were away while each group had a quorum. */
  absent = 0;
  /** Of runs whose commands are not judged key by key. */
  readonly #witness = new Witness();
  readonly #judge: Judge;
  readonly #askers = new Map<string, SimClient>();
  #ends: (() => void)[] = [];
  #frozen = false;
  readonly #judged: boolean;
  readonly #script: Script | undefined;

  constructor(plan: RunPlan, judged: boolean, script: Script | undefined) {
    this.#judged = judged;
    this.#script = script;
    this.cluster = new SimCluster(plan);
    this.workload = new Workload(this.cluster);
    const typed = plan.topic === 'types' ? [this.#witness] : [];
    this.#judge = new Judge(this.cluster, typed);
  }

  async execute(): Promise<void> {
    const { plan, scheduler } = this.cluster;
    for (const fault of plan.faults) {
      scheduler.after(fault.atMs, () => this.#begin(fault));
    }
    this.#operate();
    if (this.#script === undefined) await this.#steps(plan.safetyMs, () => false);
    else await this.#play(this.#script);
    this.#freeze();
    await this.#serveWithQuorums();
    await this.#converge();
    const wanted = JSON.stringify(this.cluster.records());
    const left = await this.#readEverything();
    if (plan.sdk.length > 0) this.#checkSdk(left);
    if (plan.followers > 0) this.#checkStaleReads();
    if (plan.cachers !== undefined) await this.#checkCaches(left);
    if (plan.topic === 'types') await this.#checkTyped();
    await this.#checkQuiet(wanted);
    this.#checkSpread();
    // where clients empty the keyspace, no key has a history of its own
    if (this.#judged && !plan.flushes) this.undecided = checkHistory(this.workload.history);
  }

  /** What it sent is answered, or given up, before faults are over. */
  async #play(script: Script): Promise<void> {
    const { cluster } = this;
    const { history } = this.workload;
    const scene = new Scene({ cluster, history, steps: (ms, until) => this.#steps(ms, until) });
    await script(scene);
    await this.#steps(ANSWER_MS, () => scene.waiting === 0);
  }

  #checkSdk(left: ReadonlyMap<string, Reply>): void {
    const { history, pushes } = this.workload;
    checkPushes(pushes, left);
    checkCounts(
      history.filter(({ words }) => /^\{?[sp]/.test(words[1]!)),
      left,
    );
  }

  /** As docs/caching.md promises it; what is read in the end is what everybody can know by then. */
  async #checkCaches(left: ReadonlyMap<string, Reply>): Promise<void> {
    const { cluster, workload } = this;
    const boundMs = CACHED_MS * (1 + 2 * cluster.plan.drift) + 2 * cluster.plan.latencyMaxMs;
    checkCaches(workload.kept, workload.history, cluster.standstills, boundMs);
    await this.#steps(boundMs, () => false);
    const texts = [...left].map(([key, reply]): [string, string | null] => [
      key,
      reply.kind === 'bulk' ? textOf(reply) : null,
    ]);
    checkQuietCaches(workload.cached, new Map(texts));
  }

  /** Their age is measured by the nodes' clocks. */
  #checkStaleReads(): void {
    const { history, staleReads } = this.workload;
    const { staleMs, drift } = this.cluster.plan;
    const boundMs = 1 + staleMs * (1 + 2 * drift);
    // that there is none may be right at any time when keys have deadlines
    const known = staleReads.filter(({ key, value }) => value !== null || !isExpiring(key));
    checkStaleReads(known, history, boundMs);
    checkShownExpired(staleReads, history, boundMs);
  }

  /** What clients were told follows from the log alone, and no element of a queue is lost. */
  async #checkTyped(): Promise<void> {
    const { sent } = this.workload;
    const { clock, plan } = this.cluster;
    const { name } = this.cluster.machines[0]!;
    const left = new Map<string, Reply>();
    for (const key of [...queueKeys, queueSet]) {
      const range = key === queueSet ? 'ZRANGE' : 'LRANGE';
      left.set(key, (await this.#ask(name, [range, key, '0', '-1'])).reply!);
    }
    await checkTableScans(async (words) => (await this.#ask(name, words)).reply!);
    if (!this.#judged) return;
    if (!plan.flushes) checkElements(sent, left);
    const { flushes } = plan;
    const apartMs = this.#clocksApartMs();
    checkReplies(sent, await this.#witness.run(clock, sent, { flushes, apartMs }));
  }

  /** At most, by how they were set and how they ran; no bound where they are set anew meanwhile. */
  #clocksApartMs(): number {
    const { skewMs, drift, faults } = this.cluster.plan;
    if (faults.some(({ kind }) => kind === 'clockJump')) return Number.POSITIVE_INFINITY;
    return 2 * (skewMs + drift * this.cluster.scheduler.nowMs);
  }

  #begin(fault: RunPlan['faults'][number]): void {
    if (this.#frozen) return;
    const end = beginFault(this.cluster, fault);
    if (end === undefined) return;
    this.faults.set(fault.kind, (this.faults.get(fault.kind) ?? 0) + 1);
    let ended = false;
    const once = () => {
      if (!ended) end();
      ended = true;
    };
    this.#ends.push(once);
    this.cluster.scheduler.after(fault.durationMs, once);
  }

  /** What was set aside is removed by somebody who has seen that every partition is whole. */
  #operate(): void {
    const { cluster } = this;
    cluster.scheduler.after(OPERATOR_MS, () => {
      if (isWhole(cluster)) {
        for (const machine of cluster.machines) {
          machine.disk.discard('/data/quarantine');
          machine.spoiled = false;
        }
      }
      this.#operate();
    });
  }

  #freeze(): void {
    this.#frozen = true;
    const { cluster } = this;
    cluster.note('faults are over');
    for (const end of this.#ends) end();
    this.#ends = [];
    cluster.network.healAll();
    cluster.startDriver();
  }

  /** Each group goes on with a random quorum, and clients are answered at every node that is there. */
  async #serveWithQuorums(): Promise<void> {
    const { cluster } = this;
    const { absence } = cluster.plan;
    const absent = absence === undefined ? new Set<string>() : drawAbsent(cluster, absence.draw);
    const end = beginAbsence(cluster, absent, absence?.how ?? 'power');
    if (absent.size === 0) return;
    this.absent = absent.size;
    const led = await this.#stepsUntilSeen(LIVENESS_MS, () => isLed(cluster, absent));
    if (!led) {
      const away = [...absent].join(' ');
      const text = `without ${away} not led after ${LIVENESS_MS} ms\n${describe(cluster)}`;
      throw new Violation('liveness', text);
    }
    await this.#steps(TOLD_MS, () => false);
    for (const { name } of cluster.machines) {
      if (absent.has(name)) continue;
      for (let at = 0; at < cluster.plan.partitions * 2; at++) {
        const words = ['SET', `quorum:${at}`, `${name}:${at}`];
        this.workload.history.push(await this.#ask(name, words));
      }
    }
    end();
  }

  async #converge(): Promise<void> {
    const { cluster, workload } = this;
    const whole = await this.#stepsUntilSeen(LIVENESS_MS, () => isWhole(cluster));
    if (!whole) {
      const text = `not whole after ${LIVENESS_MS} ms without faults\n${describe(cluster)}`;
      throw new Violation('liveness', text);
    }
    await this.#steps(500, () => false);
    workload.stop();
    const answered = await this.#steps(20_000, () => workload.busy === 0);
    if (!answered) throw new Violation('liveness', `${workload.busy} clients are not answered`);
    const level = await this.#stepsUntilSeen(20_000, () => this.#level());
    if (!level) throw new Violation('liveness', 'replicas do not reach the same index');
  }

  /** The placedriver is at its target: it moved nothing since all was whole, and all is whole. */
  async #checkQuiet(before: string): Promise<void> {
    const { cluster } = this;
    // leadership may be on its way to who should have it; a deadline that is due is an entry on its way
    const led = await this.#stepsUntilSeen(1_000, () => isLed(cluster, new Set()));
    const whole = await this.#stepsUntilSeen(1_000, () => isWhole(cluster));
    const now = JSON.stringify(cluster.records());
    if (now === before && led && whole) return;
    const text = `what was wanted when all was whole:\n${before}\nand later:\n${now}`;
    throw new Violation('liveness', `${text}\n${describe(cluster)}`);
  }

  /** No partition is in one data centre alone. */
  #checkSpread(): void {
    const { cluster } = this;
    if (cluster.plan.dataCentres === 1) return;
    for (const { partition, replicas } of cluster.records()) {
      if (new Set(replicas.map(({ node }) => cluster.dataCentreOf(node))).size > 1) continue;
      const text = `partition ${partition} is in one data centre: ${JSON.stringify(replicas)}`;
      throw new Violation('placement', `${text}\n${describe(cluster)}`);
    }
  }

  /** Every replica has applied what its group has committed. */
  #level(): boolean {
    const applied = new Map<number, Set<number>>();
    for (const { group, replica } of this.#judge.observed()) {
      const indexes = applied.get(group) ?? new Set();
      applied.set(group, indexes.add(replica.appliedIndex));
    }
    return [...applied.values()].every((indexes) => indexes.size === 1);
  }

  /** Each key once more, through each node: the last word of the history. What each holds. */
  async #readEverything(): Promise<ReadonlyMap<string, Reply>> {
    const { cluster, workload } = this;
    const keys = [...new Set(workload.history.map(({ words }) => words[1]!))];
    const left = new Map<string, Reply>();
    for (const { name } of cluster.machines) {
      for (const key of keys) {
        const words = readOf(key);
        const call = await this.#ask(name, words);
        workload.history.push(call);
        left.set(key, call.reply!);
      }
    }
    return left;
  }

  /** One command through one node, which must answer it. */
  async #ask(name: string, words: readonly string[]): Promise<Call> {
    const { network, clock } = this.cluster;
    const client = this.#askers.get(name) ?? new SimClient(network.node(`asker of ${name}`), clock);
    this.#askers.set(name, client);
    const call: Call = {
      client: -1,
      words,
      invokedMs: clock.monotonicMs(),
      returnedMs: Number.POSITIVE_INFINITY,
      reply: undefined,
    };
    void client.call({ host: name, port: GATEWAY_PORT }, [...words], 8_000).then((reply) => {
      call.reply = reply;
      call.returnedMs = clock.monotonicMs();
    });
    const answered = await this.#steps(9_000, () => call.reply !== undefined);
    if (!answered || call.reply?.kind === 'error') {
      const got = call.reply === undefined ? 'nothing' : JSON.stringify(call.reply);
      const text = `${name} answers ${got} to ${words.join(' ')} when all is well\n${describe(this.cluster)}`;
      throw new Violation('liveness', text);
    }
    return call;
  }

  /** Runs steps, each checked, until `condition`; false when it did not hold within `withinMs`. */
  #steps(withinMs: number, condition: () => boolean): Promise<boolean> {
    if (condition()) return Promise.resolve(true);
    const isOver = () => {
      if (this.#judged) this.#judge.check();
      const { found } = this.workload;
      if (found !== undefined) throw found;
      checkOutcomes(this.cluster.unknownOutcomes);
      return condition();
    };
    return this.cluster.scheduler.runUntil(isOver, withinMs);
  }

  /** As `#steps`, for a condition that looks at the whole cluster: each LOOK_MS of virtual time. */
  #stepsUntilSeen(withinMs: number, condition: () => boolean): Promise<boolean> {
    const { scheduler } = this.cluster;
    const untilMs = scheduler.nowMs + withinMs;
    let lookMs = scheduler.nowMs;
    return this.#steps(withinMs, () => {
      if (scheduler.nowMs < lookMs && scheduler.nowMs < untilMs) return false;
      lookMs = scheduler.nowMs + LOOK_MS;
      return condition();
    });
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * One run of a plan: a safety phase under faults, then a liveness phase in which faults are over, a
 * quorum of each group is there, and everything must converge. Checked after every step.
 */
import { messageOf } from '../../src/common/errors.ts';
import { applyChecker } from './checkers/apply.ts';
import { type Checker, type Observed, Violation } from './checkers/checker.ts';
import { durableChecker } from './checkers/durable.ts';
import { electionChecker } from './checkers/election.ts';
import { checkHistory } from './checkers/history.ts';
import { identityChecker } from './checkers/identity.ts';
import { logChecker } from './checkers/log.ts';
import { membershipChecker } from './checkers/membership.ts';
import { SimClient } from './client.ts';
import { GATEWAY_PORT, SimCluster } from './cluster.ts';
import { beginFault } from './faults.ts';
import type { FaultKind, RunPlan } from './plan.ts';
import { setTraps } from './traps.ts';
import { describe, isWhole } from './whole.ts';
import { type Call, Workload } from './workload.ts';

export interface RunResult {
  readonly plan: RunPlan;
  readonly trace: string;
  readonly events: number;
  readonly simulatedMs: number;
  readonly acknowledged: number;
  readonly calls: number;
  readonly undecided: number;
  readonly faults: ReadonlyMap<FaultKind, number>;
  /** Which checker found what; undefined when all is well. */
  readonly violation: { readonly checker: string; readonly text: string } | undefined;
  /** The last lines the cluster logged. */
  readonly lines: readonly string[];
}

const LIVENESS_MS = 60_000;
const OPERATOR_MS = 1_000;

export async function runPlan(plan: RunPlan): Promise<RunResult> {
  const release = setTraps();
  const run = new Run(plan);
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
  const { cluster, workload, undecided, faults } = run;
  const { traceHash, executed, nowMs } = cluster.scheduler;
  return {
    plan,
    trace: traceHash,
    events: executed,
    simulatedMs: nowMs,
    acknowledged: workload.acknowledged,
    calls: workload.history.length,
    undecided,
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
  readonly #checkers: readonly Checker[];
  readonly #moved = new WeakMap<object, { state: string }>();
  #ends: (() => void)[] = [];
  #frozen = false;

  constructor(plan: RunPlan) {
    this.cluster = new SimCluster(plan);
    this.workload = new Workload(this.cluster);
    this.#checkers = [
      electionChecker(),
      logChecker(),
      durableChecker(),
      applyChecker(),
      membershipChecker(),
      identityChecker(),
    ];
  }

  async execute(): Promise<void> {
    const { plan, scheduler } = this.cluster;
    for (const fault of plan.faults) {
      scheduler.after(fault.atMs, () => this.#begin(fault));
    }
    this.#operate();
    await this.#steps(plan.safetyMs, () => false);
    this.#freeze();
    await this.#converge();
    await this.#readEverything();
    this.undecided = checkHistory(this.workload.history);
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
      if (isWhole(cluster))
        for (const { disk } of cluster.machines) disk.discard('/data/quarantine');
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
    for (const { name } of cluster.machines) {
      cluster.resume(name);
      cluster.start(name);
    }
    cluster.startDriver();
  }

  async #converge(): Promise<void> {
    const { cluster, workload } = this;
    const whole = await this.#steps(LIVENESS_MS, () => isWhole(cluster));
    if (!whole) {
      const text = `not whole after ${LIVENESS_MS} ms without faults\n${describe(cluster)}`;
      throw new Violation('liveness', text);
    }
    await this.#steps(500, () => false);
    workload.stop();
    const answered = await this.#steps(20_000, () => workload.busy === 0);
    if (!answered) throw new Violation('liveness', `${workload.busy} clients are not answered`);
    const level = await this.#steps(20_000, () => this.#level());
    if (!level) throw new Violation('liveness', 'replicas do not reach the same index');
  }

  /** Every replica has applied what its group has committed. */
  #level(): boolean {
    const applied = new Map<number, Set<number>>();
    for (const { group, replica } of this.#observed()) {
      const indexes = applied.get(group) ?? new Set();
      applied.set(group, indexes.add(replica.appliedIndex));
    }
    return [...applied.values()].every((indexes) => indexes.size === 1);
  }

  /** Each key once more, through each node: the last word of the history. */
  async #readEverything(): Promise<void> {
    const { cluster, workload } = this;
    const keys = [...new Set(workload.history.map(({ words }) => words[1]!))];
    for (const { name } of cluster.machines) {
      const client = new SimClient(cluster.network.node(`reader of ${name}`), cluster.clock);
      for (const key of keys) {
        const words = ['GET', key];
        const call: Call = {
          client: -1,
          words,
          invokedMs: cluster.clock.monotonicMs(),
          returnedMs: Number.POSITIVE_INFINITY,
          reply: undefined,
        };
        void client.call({ host: name, port: GATEWAY_PORT }, words, 8_000).then((reply) => {
          call.reply = reply;
          call.returnedMs = cluster.clock.monotonicMs();
        });
        const answered = await this.#steps(9_000, () => call.reply !== undefined);
        if (!answered || call.reply?.kind === 'error') {
          throw new Violation('liveness', `${name} does not answer GET ${key} at the end`);
        }
        workload.history.push(call);
      }
    }
  }

  /** Runs steps, each checked, until `condition`; false when it did not hold within `withinMs`. */
  async #steps(withinMs: number, condition: () => boolean): Promise<boolean> {
    const { scheduler } = this.cluster;
    const untilMs = scheduler.nowMs + withinMs;
    while (!condition()) {
      if (!(await scheduler.step(untilMs))) {
        await scheduler.run(untilMs);
        return condition();
      }
      this.#check();
    }
    return true;
  }

  #check(): void {
    const { broken } = this.cluster;
    if (broken.length > 0) throw new Violation('crash', broken.join('\n'));
    for (const observed of this.#observed()) {
      const { raft } = observed.replica.inspect();
      const known = this.#moved.get(observed.replica);
      const state = `${raft.term} ${raft.role} ${raft.committed} ${observed.replica.appliedIndex}`;
      if (known?.state === state) continue;
      this.#moved.set(observed.replica, { state });
      for (const checker of this.#checkers) checker.onMoved?.(observed, this.cluster);
    }
  }

  *#observed(): Generator<Observed> {
    for (const { name, life } of this.cluster.machines) {
      const { datanode } = life ?? {};
      if (datanode === undefined) continue;
      for (const replica of datanode.replicas()) {
        if (replica.stopped) continue;
        const { incarnation } = datanode;
        yield { node: name, incarnation, group: replica.record.group, replica };
      }
    }
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** What a run has shown, for a terminal and as docs/reliability.md; pure. */
import type { Band } from './plot.ts';
import { drawPlot } from './plot.ts';
import type { FaultRecord, RunResult } from './run.ts';
import type { FaultKind } from './schedule.ts';
import { isClean } from './verdict.ts';

export interface Setting {
  readonly seed: string;
  readonly seconds: number;
  readonly datanodes: number;
  readonly placedrivers: number;
  readonly etcds: number;
  readonly partitions: number;
  readonly clients: number;
  readonly cpus: number;
  readonly system: string;
  /** The command that repeats the schedule. */
  readonly command: string;
  readonly date: string;
}

const meanings: Readonly<Record<FaultKind, string>> = {
  kill: 'kill -9 of a datanode',
  'kill-two': 'kill -9 of two datanodes at once',
  'kill-all': 'kill -9 of all datanodes at once',
  pause: 'SIGSTOP of a datanode, SIGCONT later',
  isolate: 'a machine cut off from all others, both ways',
  'one-way': 'packets from a machine, or to it, are lost; the other way they pass',
  bridge: 'two halves that only one machine can reach both of',
  halves: 'two machines apart from the others',
  loss: 'a share of the packets of a machine is lost',
  'slow-link': 'a narrow link of a machine',
  'full-disk': 'the disk of a datanode is full to the last byte',
  clock: 'the wall clock of a datanode jumps, and back',
  'etcd-kill': 'kill -9 of all etcd members',
  'etcd-pause': 'SIGSTOP of all etcd members',
  placedriver: 'kill -9 of all placedrivers',
  'rolling-restart': 'all datanodes restarted, one after the other',
  rebalance: 'a datanode emptied, removed and added again',
};

export const passed = ({ verdict, stuck }: RunResult): boolean =>
  isClean(verdict) && stuck.length === 0;

export interface KindRow {
  readonly kind: FaultKind;
  readonly times: number;
  readonly longestGapMs: number;
  readonly longestWholeMs: number;
  readonly slowestMs: FaultRecord['slowestMs'];
  readonly refused: number;
  readonly unknown: number;
}

/** One row per kind, the worst of its times. */
export function rowsOf(faults: readonly FaultRecord[]): readonly KindRow[] {
  const kinds = [...new Set(faults.map(({ kind }) => kind))];
  return kinds.map((kind) => {
    const all = faults.filter((fault) => fault.kind === kind);
    const most = (of: (fault: FaultRecord) => number) => Math.max(...all.map(of));
    const sum = (of: (fault: FaultRecord) => number) =>
      all.reduce((total, fault) => total + of(fault), 0);
    return {
      kind,
      times: all.length,
      longestGapMs: most(({ longestGapMs }) => longestGapMs),
      longestWholeMs: most(({ wholeS, healedS }) => (wholeS - healedS) * 1_000),
      slowestMs: {
        sdk: most(({ slowestMs }) => slowestMs.sdk),
        gateway: most(({ slowestMs }) => slowestMs.gateway),
        cluster: most(({ slowestMs }) => slowestMs.cluster),
      },
      refused: sum(({ refused }) => refused),
      unknown: sum(({ unknown }) => unknown),
    };
  });
}

function stoodStillS({ stoodStill }: RunResult): number {
  return Math.round(stoodStill.reduce((sum, { fromS, toS }) => sum + toS - fromS, 0));
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
const grouped = (count: number) => String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',');

export function summary(result: RunResult): string {
  const { verdict, counts, stuck } = result;
  const { places } = verdict;
  const findings = verdict.violations.length + verdict.anomalies.length;
  return [
    '',
    ...rowsOf(result.faults).map(
      ({ kind, times, longestGapMs, longestWholeMs }) =>
        `  ${kind.padEnd(16)} ${times} ×  longest without an answer ${seconds(longestGapMs)}, ` +
        `whole ${seconds(longestWholeMs)} after healing`,
    ),
    ...result.skipped.map(([kind, reason]) => `  ${kind.padEnd(16)} left out: ${reason}`),
    '',
    `${grouped(counts.ok)} calls succeeded, ${grouped(counts.refused)} were refused, ` +
      `${grouped(counts.unknown)} have an unknown outcome; ${grouped(result.finalReads)} keys read in the end`,
    `${grouped(verdict.parts)} independent histories: ${findings} violations, ` +
      `${verdict.undecided.length} too large to tell (${seconds(verdict.tookMs)})`,
    `${grouped(places.placed)} calls told their places in the logs of ${places.groups} groups: ` +
      `${places.findings.length} do not fit, ${places.undecided} of ${grouped(places.parts)} histories have too many ways`,
    ...(stoodStillS(result) > 0
      ? [`the machine itself stood still for ${stoodStillS(result)} s`]
      : []),
    ...stuck.map((what) => `NOT WHOLE: ${what}`),
    passed(result) ? 'PASSED' : 'FAILED',
  ].join('\n');
}

function bandsOf(faults: readonly FaultRecord[]): readonly Band[] {
  return faults.map(({ kind, fromS, healedS }) => ({ label: kind, fromS, toS: healedS }));
}

export function plotOf(result: RunResult, setting: Setting): string {
  const title = `successful calls per second, all clients; bands are faults (seed ${setting.seed})`;
  return drawPlot({
    title,
    values: result.perSecond,
    bucketS: 1,
    bands: [
      ...bandsOf(result.faults),
      ...result.stoodStill.map((stall) => ({ label: 'machine stood still', ...stall })),
    ],
  });
}

export function page(result: RunResult, setting: Setting): string {
  const { verdict, counts } = result;
  const { datanodes, placedrivers, etcds, partitions, clients, seed } = setting;
  const namespaces =
    result.network === 'namespaces'
      ? 'each machine in a network namespace of its own, joined by a bridge'
      : 'on loopback addresses of one machine, without faults of the network';
  const total = counts.ok + counts.refused + counts.unknown;
  return `# Reliability, as measured

This page is written by \`${setting.command}\`; what is below is one run, nothing is picked.
${setting.date}, ${setting.system}, ${setting.cpus} cores that other work was using at the same time, so
times are longer than on machines of their own: elections and restarts wait for a core.

**${passed(result) ? 'Passed' : 'FAILED'}.** ${grouped(counts.ok)} calls succeeded in ${result.perSecond.length - stoodStillS(result)} s under
${result.faults.length} faults; ${grouped(counts.refused)} (${((100 * counts.refused) / total).toFixed(2)} %) were refused without effect, ${grouped(counts.unknown)} ended with an
unknown outcome. Each of ${grouped(verdict.parts)} independent histories (the largest of ${grouped(verdict.largestPart)} calls) was searched for
an order that explains every reply: ${verdict.violations.length} have none, ${verdict.undecided.length} were too large to tell. ${grouped(verdict.appends)} calls and
transactions on lists were checked for cycles of dependencies: ${verdict.anomalies.length} found. ${grouped(verdict.places.placed)} calls
at gateways and cluster ports told where in the logs of ${verdict.places.groups} groups they stood (\`DEBUG WITNESS\`): run in that
order, all histories at once with those of the SDK between them, ${verdict.places.findings.length} did not give what clients were told
(${verdict.places.undecided} of ${grouped(verdict.places.parts)} have too many ways to stand). All ${grouped(result.finalReads)} keys were
read once more in the end.

![Throughput over time](reliability.svg)

## The run
${datanodes} datanodes, ${placedrivers} placedrivers and ${etcds} etcd, real processes, ${namespaces};
${partitions} partitions of 3 replicas. ${clients + 1} clients each of the SDK (sessions on), of the gateway ports and of the
cluster ports, one call under way per client: registers (SET, GET, GETSET, SET NX, DEL), counters, sets (SPOP included),
queues (RPUSH, LPUSH, LPOP, BLPOP, BRPOP), lists that only grow, transactions over three keys, WATCH,
and keys with deadlines (judged with 1.1 s of slack for clocks). Clients reach every machine during
faults of the network. After each fault the cluster had 90 s to become whole: every gateway answers
for every partition, every replica runs and has caught up.

## What the verdict rests on
A call with an unknown outcome may take effect at any later time, or never; what was refused may not. A
blocking pop that ends with nil is not judged (${grouped(verdict.vain)} of them): a node that reaches no leader until its
time is up answers nil as well. The search accepts and refuses hand-made histories as a person would, and
bent ones as trying every order does (\`test/linearizability\`); of the requests of this load any one that
is acknowledged and lost is found (\`test/chaos\`). Of 108 histories that others
have judged (102 of etcd under Jepsen) it says what they say (\`test/linearizability/public\`). What it cannot see is a write that was lost, and overwritten before anybody read it. The replay in the order of the
logs also sees a reply that some other order would explain, and any two calls of a group, over all its keys, whose
order in the log is not that of their times (\`test/linearizability/replay\`).

## Longest unavailability
The longest time in which no probe of *some* partition succeeded, from the beginning of the fault until
the cluster was whole again (a fault without a quorum, such as kill-all, lasts until it is healed); each
partition is asked for a write every 0.15 s through the SDK and at the cluster ports, one at a time. What
was sent to a leader that then stands still or is cut off waits 5 to 6 s before it is told or tried
elsewhere (\`hold-ms\`, the SDK's \`attemptTimeoutMs\`), probes too: others are served by the next leader before
that. Starting a node takes some 6 s here. Then the slowest call of the load that succeeded, by door. ${
    stoodStillS(result) > 0
      ? `The machine itself stood still for ${stoodStillS(result)} s, which is not\ncounted. `
      : ''
  }Without a fault the longest time was ${seconds(result.quietGapMs)}.

| fault | times | no answer | whole after healing | SDK | gateway | cluster port | refused | unknown |
|---|---|---|---|---|---|---|---|---|
${rowsOf(result.faults)
  .map(
    (row) =>
      `| ${meanings[row.kind]} | ${row.times} | ${seconds(row.longestGapMs)} | ${seconds(row.longestWholeMs)} | ` +
      `${seconds(row.slowestMs.sdk)} | ${seconds(row.slowestMs.gateway)} | ${seconds(row.slowestMs.cluster)} | ` +
      `${row.refused} | ${row.unknown} |`,
  )
  .join('\n')}
${result.slowLink ? `\nThe narrow link: ${result.slowLink}.\n` : ''}${
  result.skipped.length > 0
    ? `\nLeft out: ${result.skipped.map(([kind, reason]) => `${kind} (${reason})`).join('; ')}.\n`
    : ''
}
## Every fault
| at | fault | whom | held | whole after | no answer |
|---|---|---|---|---|---|
${result.faults
  .map(
    (fault) =>
      `| ${fault.fromS.toFixed(0)} s | ${fault.kind} | ${fault.what} | ` +
      `${(fault.healedS - fault.fromS).toFixed(1)} s | ${(fault.wholeS - fault.healedS).toFixed(1)} s | ` +
      `${seconds(fault.longestGapMs)} |`,
  )
  .join('\n')}

## What clients were told
${result.texts
  .slice(0, 12)
  .map(([text, count]) => `- ${grouped(count)} × ${text.replaceAll('|', '/')}`)
  .join('\n')}

The same schedule again: \`npm run chaos -- --minutes ${setting.seconds / 60} --seed ${seed}\` (what it meets differs:
processes are not simulated).
`;
}

/**
 * The simulator's command line; `npm run sim -- --help`. Every seed runs twice, unless told otherwise,
 * and both runs must leave the same trace.
 */
import { parseArgs } from 'node:util';
import { runChaos } from '../datanode/raft/chaos-run.ts';
import { aboutPlans } from './about-plans.ts';
import { drawPlan, type FaultKind, patientPlan, type RunPlan } from './plan.ts';
import { type RunResult, runPlan } from './run.ts';
import { scenarios } from './scenarios/all.ts';
import type { Script } from './scenarios/scene.ts';
import type { Waits } from './typed.ts';

const HELP = `Runs whole clusters on virtual time, under faults drawn from seeds.

  npm run sim -- [options]

  --seeds N        how many seeds (default 20)
  --from N         the first seed (default 1)
  --seed NAME      this seed alone, with its last events printed
  --hours N        goes on with new seeds for N hours of real time
  --cpu N          no further seed after N seconds of CPU time
  --core N         first N seeds of message chaos against the raft core alone (default 0)
  --reads MODE     all reads linearizable, or lease; else as the seeds draw it
  --about WHAT     plans that look at one thing alone, drawn from the same seeds: leases, deadlines,
                   snapshots, types, queues, sdk, followers, links, rebuilds or caching
  --patient        three clients of the SDK that give nothing up are all there is
  --once           each seed runs once, not twice
  --twice N        the first N seeds run twice, all others once
  --scenarios TEXT the scripted scenarios whose names begin like this, each twice, and no seeds
  --minimize       makes the faults of a failing seed as few as possible
  --json           one line of JSON for each seed
  --help           this text

Ends with exit code 1 at the first violation; it prints the seed and how to run it again.`;

interface Totals {
  seeds: number;
  /** Of those seeds, all together. */
  runs: number;
  simulatedMs: number;
  events: number;
  calls: number;
  undecided: number;
  absent: number;
  readonly waits: Waits;
  readonly faults: Map<FaultKind, number>;
}

type Options = ReturnType<typeof parseLine>['values'];

function parseLine() {
  return parseArgs({
    options: {
      seeds: { type: 'string', default: '20' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      hours: { type: 'string' },
      reads: { type: 'string' },
      about: { type: 'string' },
      cpu: { type: 'string' },
      scenarios: { type: 'string' },
      core: { type: 'string', default: '0' },
      patient: { type: 'boolean', default: false },
      once: { type: 'boolean', default: false },
      twice: { type: 'string' },
      minimize: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
}

const readModes: readonly (string | undefined)[] = [undefined, 'linearizable', 'lease'];

/** What is wrong with an option; undefined: nothing. */
function mistakeIn(options: Options): string | undefined {
  for (const name of ['seeds', 'from', 'hours', 'cpu', 'core', 'twice'] as const) {
    if (!(Number(options[name] ?? 0) >= 0)) return `--${name}: a number, not ${options[name]}`;
  }
  if (!readModes.includes(options.reads)) return '--reads: linearizable or lease';
  const { about } = options;
  if (about !== undefined && options.reads !== undefined) {
    return '--about draws how reads are made itself: leave --reads out, or --about';
  }
  if (about === undefined || Object.hasOwn(aboutPlans, about)) return undefined;
  return `--about: one of ${Object.keys(aboutPlans).join(', ')}`;
}

async function main(): Promise<number> {
  const { values } = parseLine();
  if (values.help) {
    say(HELP);
    return 0;
  }
  const mistake = mistakeIn(values);
  if (mistake !== undefined) {
    say(mistake);
    return 2;
  }
  if (values.scenarios !== undefined) return playAll(values.scenarios, values.once, values.json);
  for (let seed = 1; seed <= Number(values.core); seed++) {
    if (!coreHolds(seed, values.json)) return 1;
  }
  return playSeeds(values);
}

/** Until they, the time or the CPU time are used up, or one fails. */
async function playSeeds(options: Options): Promise<number> {
  const totals: Totals = {
    seeds: 0,
    runs: 0,
    simulatedMs: 0,
    events: 0,
    calls: 0,
    undecided: 0,
    absent: 0,
    waits: { served: 0, inVain: 0, open: 0 },
    faults: new Map(),
  };
  const began = Date.now();
  const cpuBegan = cpuSeconds();
  const twice = options.once ? 0 : Number(options.twice ?? Number.POSITIVE_INFINITY);
  const spent = () => ({
    tookMs: Date.now() - began,
    cpuMs: (cpuSeconds() - cpuBegan) * 1_000,
  });
  const { hours, json } = options;
  const untilMs = hours === undefined ? undefined : began + Number(hours) * 3_600_000;
  for (let at = 0; ; at++) {
    if (untilMs === undefined ? at >= Number(options.seeds) : Date.now() >= untilMs) break;
    if (cpuSeconds() > Number(options.cpu ?? Number.POSITIVE_INFINITY)) break;
    const seed = options.seed ?? String(Number(options.from) + at);
    const once = at >= twice;
    const result = await judge(planFor(seed, options), once);
    add(totals, result, once ? 1 : 2);
    if (json) say(JSON.stringify(lineOf(result)));
    if (result.violation !== undefined) {
      report(result, json);
      if (options.minimize) await minimize(result);
      return 1;
    }
    if (options.seed !== undefined) {
      say(result.lines.join('\n'));
      break;
    }
    if (!json && totals.seeds % 20 === 0) say(summary(totals, spent()));
  }
  if (!json) say(summary(totals, spent()));
  return 0;
}

function planFor(seed: string, { about, reads, patient }: Options): RunPlan {
  const drawAbout = aboutPlans[about as keyof typeof aboutPlans];
  const plan = drawAbout?.(seed) ?? drawPlan(seed, reads as RunPlan['reads'] | undefined);
  return patient ? patientPlan(plan) : plan;
}

/** Also when none is of that name it ends with exit code 1. */
async function playAll(text: string, once: boolean, json: boolean): Promise<number> {
  const chosen = scenarios.filter(({ name }) => name.startsWith(text));
  let failed = 0;
  for (const { name, plan, script } of chosen) {
    const began = cpuSeconds();
    const { violation, lines } = await judge(plan, once, script);
    if (json) say(JSON.stringify({ scenario: name, ...ended(violation?.checker) }));
    else say(`${violation ? 'FAILED' : 'holds '} ${(cpuSeconds() - began).toFixed(2)} s  ${name}`);
    if (violation === undefined) continue;
    if (!json) say(`${lines.join('\n')}\n${violation.text.slice(0, 6_000)}`);
    failed++;
  }
  return chosen.length > 0 && failed === 0 ? 0 : 1;
}

function coreHolds(seed: number, json: boolean): boolean {
  try {
    runChaos(seed);
    if (json) say(JSON.stringify({ core: seed, ...ended(undefined) }));
    return true;
  } catch (error) {
    const { message, cause } = error as Error;
    if (json) say(JSON.stringify({ core: seed, ...ended('raft core') }));
    say(`${message}: ${cause instanceof Error ? cause.message : cause}`);
    return false;
  }
}

async function judge(plan: RunPlan, once: boolean, script?: Script): Promise<RunResult> {
  const first = await runPlan(plan, true, { script });
  if (once || first.violation !== undefined) return first;
  const second = await runPlan(plan, false, { script });
  if (second.trace === first.trace) return first;
  const text = `two runs differ: traces ${first.trace} and ${second.trace}`;
  return { ...second, violation: { checker: 'determinism', text } };
}

function add(totals: Totals, result: RunResult, runs: number): void {
  const { simulatedMs, events, calls, undecided, absent, waits, faults } = result;
  totals.seeds++;
  totals.runs += runs;
  totals.absent += absent;
  totals.simulatedMs += simulatedMs;
  totals.events += events;
  totals.calls += calls;
  totals.undecided += undecided;
  totals.waits.served += waits.served;
  totals.waits.inVain += waits.inVain;
  totals.waits.open += waits.open;
  for (const [kind, count] of faults) {
    totals.faults.set(kind, (totals.faults.get(kind) ?? 0) + count);
  }
}

interface Spent {
  readonly tookMs: number;
  readonly cpuMs: number;
}

function summary(totals: Totals, { tookMs, cpuMs }: Spent): string {
  const { seeds, runs, simulatedMs, events, calls, undecided, absent, waits, faults } = totals;
  const { served, inVain, open } = waits;
  const perSecond = Math.round(events / (tookMs / 1_000));
  const times = (ms: number) =>
    Math.round(((runs / Math.max(1, seeds)) * simulatedMs) / Math.max(1, ms));
  const kinds = [...faults].sort().map(([kind, count]) => `${kind} ${count}`);
  return (
    `${seeds} seeds, ${(simulatedMs / 3_600_000).toFixed(2)} simulated hours, ${events} events ` +
    `(${perSecond}/s), ${runs} runs: ${times(tookMs)} × real time, ${times(cpuMs)} × CPU ` +
    `time; ${calls} calls judged, ${undecided} keys undecided; ` +
    `quorums without ${absent} nodes; waits: ${served} served, ${inVain} in vain, ${open} open; faults: ${kinds.join(', ')}`
  );
}

function lineOf({ plan, trace, events, calls, violation }: RunResult) {
  return { seed: plan.seed, trace, events, calls, ...ended(violation?.checker) };
}

/** Which checker objected, and what the process has spent so far. */
function ended(violation: string | undefined) {
  return { cpuSeconds: cpuSeconds(), violation };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return Math.round((user + system) / 10_000) / 100;
}

function report({ plan, violation, lines }: RunResult, short: boolean): void {
  if (!short) say(lines.join('\n'));
  say(`seed ${plan.seed}: ${violation?.text.slice(0, 6_000)}`);
  const drawn = plan.reads === drawPlan(plan.seed).reads;
  const other = plan.about ? ` --about ${plan.about}` : drawn ? '' : ` --reads ${plan.reads}`;
  const patient = plan.sdk.some((client) => client.patient) ? ' --patient' : '';
  say(`again: npm run sim -- --seed ${plan.seed}${other}${patient}`);
}

/** Leaves out faults, halves first, as long as the same checker objects. */
async function minimize(result: RunResult): Promise<void> {
  const checker = result.violation?.checker;
  const once = checker !== 'determinism';
  let plan: RunPlan = result.plan;
  let size = Math.ceil(plan.faults.length / 2);
  while (size >= 1) {
    let smaller = false;
    for (let at = 0; at < plan.faults.length; at += size) {
      const faults = plan.faults.filter((_, index) => index < at || index >= at + size);
      const tried = await judge({ ...plan, faults }, once);
      if (tried.violation?.checker !== checker) continue;
      plan = tried.plan;
      smaller = true;
      say(`still fails with ${faults.length} faults`);
      at -= size;
    }
    if (!smaller || size > plan.faults.length) size = Math.floor(size / 2);
  }
  const last = await judge(plan, once);
  report(last, false);
  say(`faults that remain:\n${plan.faults.map((fault) => JSON.stringify(fault)).join('\n')}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await main();

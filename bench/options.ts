/** The command line of the benchmark. */
import { listOf, number, parseWords, whole } from '../tools/command-line.ts';
import { heldNames } from './holds/commands.ts';
import { type ScenarioName, scenarioNames } from './scenario.ts';
import type { SystemName } from './system.ts';

export interface Options {
  readonly help: boolean;
  readonly full: boolean;
  readonly seconds: number;
  readonly rounds: number;
  readonly fill: number;
  readonly systems: readonly SystemName[];
  readonly scenarios: readonly ScenarioName[];
  /** What is not begun any more when it would not end within them. */
  readonly minutes: number;
  readonly kills: number;
  readonly transfers: number;
  readonly groups: number;
  /** Of 1 KiB each, for a start and a catch-up. */
  readonly keys: number;
  readonly bulk: number;
  /** Of each collection of holds. */
  readonly elements: number;
  /** Of holds, in lower case; undefined: all. */
  readonly commands: readonly string[] | undefined;
  readonly profile: boolean;
  readonly checkPerf: boolean;
  readonly json: string | undefined;
  readonly report: boolean;
  readonly data: string | undefined;
}

const systems: readonly SystemName[] = ['redis', 'kvorum', 'etcd'];
const all: readonly (SystemName | ScenarioName)[] = [...systems, ...scenarioNames];

/** With more, commands that answer or carry a whole collection are refused, and measure nothing. */
const ELEMENTS_MAX = 1_048_576;

export const help = `npm run bench -- [options]

Measures kvorum beside a stock redis-server and a three-node etcd on this machine: SET and GET,
100-byte values, 1,000,000 keys, 50 clients, pipeline 1 and 16. All of them sync every write to disk
before they answer. Only one system runs at a time, and a load runs until it gets hardly faster
before it is measured. Ends with a table, the ratios, what each process cost, and the floors; the
exit code is 1 when a floor is missed.

  --full            three rounds of 10 s a row, and rows with 1 and 256 clients, with 4,096-byte
                    values, for counters, lists, sets, hashes, sorted sets and MSET, a mix of GETs
                    and SETs, and latencies at fixed rates; every other round in turned order; then
                    all scenarios (without it 5 to 8 minutes, with it about two hours)
  --seconds N       seconds a row is measured (default 7)
  --rounds N        measure everything N times, show the median (default 1); scenarios once
  --fill N          SETs of random keys before the rows (default 1000000; fewer when they would
                    take longer than 45 s, unless --full)
  --only LIST       some of ${systems.join(',')}; floors and targets that need another are not
                    judged; and scenarios, each in a cluster of its own:
                    ${scenarioNames.join(',')}
  --kills N         kills of failover (default 10, with --full 40)
  --transfers N     of transfer (default 30, with --full 100)
  --groups N        groups of each node in groups and hot-groups (default 1000)
  --keys N          of 1 KiB, in start and catch-up (default 1000000)
  --bulk N          keys of bulk (default 1000000, with --full 10000000)
  --elements N      of each collection of holds (default 1000000, at most 1048576)
  --commands NAMES  of holds only these, such as zunionstore,restore
  --profile         and what ran in the longest turn of each
  --minutes N       begin nothing that would not be over after N minutes; what is left out is
                    named (default 60, with --full 300)
  --no-check-perf   leave out etcd's own measurement (65 s with etcd 3.4); the SET floor is then
                    judged against the 50 gRPC clients
  --data DIR        make the data directories below DIR (default: the temporary directory)
  --json FILE       write all figures to FILE
  --report          write docs/performance.md and docs/performance.svg; what stands between the
                    marks in the page is kept
  --help            this text

Needs Linux, redis-server, redis-benchmark, redis-cli, etcd and etcdctl 3.4 or newer on the PATH
(Debian: redis-server redis-tools etcd-server etcd-client). Ports are free ones of loopback. Figures
are worth something only on a machine that does nothing else: it says when that was not so.`;

/** Throws an error that says which option is wrong. */
export function parseOptions(args: readonly string[]): Options {
  const values = parseWords(args, words);
  const { full } = values;
  const names = [...systems, ...(full ? scenarioNames : [])];
  const only = values.only === undefined ? names : listOf('--only', values.only, all);
  return {
    ...{ help: values.help, full },
    seconds: number('--seconds', values.seconds ?? (full ? '10' : '7'), 0.5, 300),
    rounds: whole('--rounds', values.rounds ?? (full ? '3' : '1'), 1, 100),
    fill: whole('--fill', values.fill, 1_000, 10_000_000),
    systems: systems.filter((system) => only.includes(system)),
    scenarios: scenarioNames.filter((scenario) => only.includes(scenario)),
    minutes: number('--minutes', values.minutes ?? (full ? '300' : '60'), 1, 10_000),
    kills: whole('--kills', values.kills ?? (full ? '40' : '10'), 1, 1_000),
    transfers: whole('--transfers', values.transfers ?? (full ? '100' : '30'), 1, 10_000),
    groups: whole('--groups', values.groups, 30, 4_000),
    keys: whole('--keys', values.keys, 10_000, 10_000_000),
    bulk: whole('--bulk', values.bulk ?? (full ? '10000000' : '1000000'), 20_000, 100_000_000),
    elements: whole('--elements', values.elements, 1_000, ELEMENTS_MAX),
    commands:
      values.commands === undefined
        ? undefined
        : listOf('--commands', values.commands.toLowerCase(), heldNames()),
    profile: values.profile,
    checkPerf: !values['no-check-perf'],
    ...{ json: values.json, report: values.report, data: values.data },
  };
}

const words = {
  help: { type: 'boolean', short: 'h', default: false },
  full: { type: 'boolean', default: false },
  seconds: { type: 'string' },
  rounds: { type: 'string' },
  fill: { type: 'string', default: '1000000' },
  only: { type: 'string' },
  kills: { type: 'string' },
  transfers: { type: 'string' },
  groups: { type: 'string', default: '1000' },
  keys: { type: 'string', default: '1000000' },
  bulk: { type: 'string' },
  elements: { type: 'string', default: '1000000' },
  commands: { type: 'string' },
  profile: { type: 'boolean', default: false },
  minutes: { type: 'string' },
  'no-check-perf': { type: 'boolean', default: false },
  json: { type: 'string' },
  report: { type: 'boolean', default: false },
  data: { type: 'string' },
} as const;

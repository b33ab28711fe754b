/** The command line of the benchmark. */
import { listOf, number, parseWords, whole } from '../tools/command-line.ts';
import type { SystemName } from './system.ts';

export interface Options {
  readonly help: boolean;
  readonly full: boolean;
  readonly seconds: number;
  readonly rounds: number;
  readonly fill: number;
  readonly only: readonly SystemName[];
  readonly checkPerf: boolean;
  readonly json: string | undefined;
  readonly data: string | undefined;
}

const systems: readonly SystemName[] = ['redis', 'kvorum', 'etcd'];

export const help = `npm run bench -- [options]

Measures kvorum beside a stock redis-server and a three-node etcd on this machine: SET and GET,
100-byte values, 1,000,000 keys, 50 clients, pipeline 1 and 16. All of them sync every write to disk
before they answer. Only one system runs at a time, and a load runs until it gets hardly faster
before it is measured. Ends with a table, the ratios, what each process cost, and the floors; the
exit code is 1 when a floor is missed.

  --full            three rounds of 10 s a row, and rows with 1 and 256 clients, with 4,096-byte
                    values, for counters, lists, sets, hashes, sorted sets and MSET, a mix of GETs
                    and SETs, and latencies at fixed rates (two hours; without it 5 to 8
                    minutes); every other round in turned order
  --seconds N       seconds a row is measured (default 7)
  --rounds N        measure everything N times, show the median (default 1)
  --fill N          SETs of random keys before the rows (default 1000000; fewer when they would
                    take longer than 45 s, unless --full)
  --only LIST       some of ${systems.join(',')}; floors that need another are not judged
  --no-check-perf   leave out etcd's own measurement (65 s with etcd 3.4); the SET floor is then
                    judged against the 50 gRPC clients
  --data DIR        make the data directories below DIR (default: the temporary directory)
  --json FILE       write all figures to FILE
  --help            this text

Needs Linux, redis-server, redis-benchmark, redis-cli, etcd and etcdctl 3.4 or newer on the PATH
(Debian: redis-server redis-tools etcd-server etcd-client). Ports are free ones of loopback. Figures
are worth something only on a machine that does nothing else: it says when that was not so.`;

/** Throws an error that says which option is wrong. */
export function parseOptions(args: readonly string[]): Options {
  const values = parseWords(args, words);
  const only = listOf('--only', values.only, systems);
  return {
    help: values.help,
    full: values.full,
    seconds: number('--seconds', values.seconds ?? (values.full ? '10' : '7'), 0.5, 300),
    rounds: whole('--rounds', values.rounds ?? (values.full ? '3' : '1'), 1, 100),
    fill: whole('--fill', values.fill, 1_000, 10_000_000),
    only: systems.filter((system) => only.includes(system)),
    checkPerf: !values['no-check-perf'],
    json: values.json,
    data: values.data,
  };
}

const words = {
  help: { type: 'boolean', short: 'h', default: false },
  full: { type: 'boolean', default: false },
  seconds: { type: 'string' },
  rounds: { type: 'string' },
  fill: { type: 'string', default: '1000000' },
  only: { type: 'string', default: systems.join(',') },
  'no-check-perf': { type: 'boolean', default: false },
  json: { type: 'string' },
  data: { type: 'string' },
} as const;

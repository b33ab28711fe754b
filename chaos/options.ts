/** The command line of the chaos run. */
import { listOf, number, oneOf, parseWords, whole } from '../tools/command-line.ts';
import { type FaultKind, faultKinds } from './schedule.ts';

export interface Options {
  readonly help: boolean;
  readonly seconds: number;
  readonly seed: string;
  readonly datanodes: number;
  readonly placedrivers: number;
  readonly etcds: number;
  readonly partitions: number;
  /** Of each door. */
  readonly clients: number;
  readonly faults: readonly FaultKind[];
  readonly loopback: boolean;
  readonly json: string | undefined;
  readonly report: boolean;
  readonly data: string | undefined;
}

export const help = `npm run chaos -- [options]

Starts real datanodes, placedrivers and etcd, each machine in a network namespace of its own, and
injects faults while clients of the SDK, of the gateways and of the cluster ports work on registers,
counters, sets, lists, queues, transactions and keys with deadlines. In the end every key is read
once more, and what clients were told must be linearizable. Exit code 1 when it is not, or when the
cluster did not come back within 90 s of a fault's end.

  --minutes N       how long faults are injected (default 5; a tenth is the least, 60 the most)
  --seed TEXT       draws the schedule of faults and the work of clients (default: the time)
  --datanodes N     3 to 5 (default 4: one of them is emptied, removed and added again)
  --placedrivers N  1 to 3 (default 2)
  --etcd N          1 or 3 members (default 3)
  --partitions N    1 to 64, of 3 replicas (default 8)
  --clients N       of each of the three doors, 1 to 32 (default 5)
  --faults LIST     some of ${faultKinds.join(',')}
  --loopback        no namespaces: loopback addresses, and only faults that need none
  --json FILE       write all figures to FILE
  --report          write docs/reliability.md and docs/reliability.svg
  --data DIR        make the data directory below DIR (default: the temporary directory)
  --help            this text

Needs Linux and etcd (Debian: etcd-server); for namespaces iproute2, nftables and the right to make
them (root, or user namespaces), for faults of clocks libfaketime (Debian: faketime). What the machine
does not allow is left out and named. Nothing of it is left when it ends, or is ended.`;

/** Throws an error that says which option is wrong. */
export function parseOptions(args: readonly string[], nowMs: number): Options {
  const values = parseWords(args, words);
  return {
    help: values.help,
    seconds: number('--minutes', values.minutes, 0.1, 60) * 60,
    seed: values.seed ?? String(Math.floor(nowMs / 1_000)),
    datanodes: whole('--datanodes', values.datanodes, 3, 5),
    placedrivers: whole('--placedrivers', values.placedrivers, 1, 3),
    etcds: oneOf('--etcd', values.etcd, [1, 3]),
    partitions: whole('--partitions', values.partitions, 1, 64),
    clients: whole('--clients', values.clients, 1, 32),
    faults:
      values.faults === undefined ? faultKinds : listOf('--faults', values.faults, faultKinds),
    loopback: values.loopback,
    json: values.json,
    report: values.report,
    data: values.data,
  };
}

const words = {
  help: { type: 'boolean', short: 'h', default: false },
  minutes: { type: 'string', default: '5' },
  seed: { type: 'string' },
  datanodes: { type: 'string', default: '4' },
  placedrivers: { type: 'string', default: '2' },
  etcd: { type: 'string', default: '3' },
  partitions: { type: 'string', default: '8' },
  clients: { type: 'string', default: '5' },
  faults: { type: 'string' },
  loopback: { type: 'boolean', default: false },
  json: { type: 'string' },
  report: { type: 'boolean', default: false },
  data: { type: 'string' },
} as const;

/** `kvorum start`: a whole cluster on this machine, one process each. */
import { resolve } from 'node:path';
import { must } from '../common/assert.ts';
import { KvorumError } from '../common/errors.ts';
import { ownFiles } from './certificates/own-certificates.ts';
import {
  isReopened,
  type ProcessPlan,
  prepareDirectory,
  type StartOptions,
} from './cluster-dir.ts';
import { checkEtcd, type EtcdFileFlags, parseEtcdFiles, parseEtcdUrls } from './etcd-flag.ts';
import { Supervisor } from './supervisor.ts';

export interface StartFlags extends EtcdFileFlags {
  readonly nodes: string;
  readonly partitions: string;
  readonly replicas?: string;
  readonly data: string;
  readonly port: string;
  readonly clusterPort: string;
  readonly httpPort: string;
  readonly zanPort?: string;
  readonly etcd?: string;
  readonly fresh?: boolean;
  readonly tls?: boolean;
  readonly restart: boolean;
}

/** Resolves when the cluster has been stopped by a signal. */
export async function start(flags: StartFlags): Promise<void> {
  const began = Date.now();
  const options = parseFlags(flags);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const plans = await prepare(options, say);
  const script = must(process.argv[1], 'the command knows its own script');
  const supervisor = new Supervisor(plans, { script, restart: options.restart, say });
  const stopped = stopOnSignal(supervisor, say);
  let ready: boolean;
  try {
    ready = await supervisor.start();
  } catch (failure) {
    await supervisor.stop();
    throw failure;
  }
  if (ready) {
    say(`\nkvorum is ready after ${((Date.now() - began) / 1000).toFixed(1)} s\n`);
    for (const line of copyPaste(plans, options)) say(line);
  }
  await stopped;
}

async function prepare(
  options: StartOptions,
  say: (line: string) => void,
): Promise<readonly ProcessPlan[]> {
  const { etcd, etcdFiles, data, fresh } = options;
  if (etcd === undefined) return prepareDirectory(options);
  const reopened = isReopened(options);
  const erase = await checkEtcd({ urls: etcd, files: etcdFiles, data, reopened, fresh, say });
  return prepareDirectory(options, erase);
}

function stopOnSignal(supervisor: Supervisor, say: (line: string) => void): Promise<void> {
  return new Promise((resolve) => {
    let stopping = false;
    const stop = () => {
      if (stopping) return;
      stopping = true;
      say('stopping …');
      void supervisor.stop().then(() => {
        say('stopped; the data is kept');
        resolve();
      });
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  });
}

function parseFlags(flags: StartFlags): StartOptions {
  const nodes = whole('--nodes', flags.nodes, 1, 64);
  const replicas = whole('--replicas', flags.replicas ?? String(Math.min(3, nodes)), 1, 7);
  if (replicas > nodes) {
    throw new KvorumError(
      'BAD_CONFIG',
      `--replicas ${replicas} needs as many datanodes; raise --nodes or lower --replicas`,
    );
  }
  const etcd = flags.etcd === undefined ? undefined : parseEtcdUrls(flags.etcd);
  return {
    nodes,
    replicas,
    partitions: whole('--partitions', flags.partitions, 1, 1_024),
    data: resolve(flags.data),
    port: whole('--port', flags.port, 1, 65_535 - nodes),
    clusterPort: whole('--cluster-port', flags.clusterPort, 1, 65_535 - nodes),
    httpPort: whole('--http-port', flags.httpPort, 1, 65_534),
    ...(flags.zanPort !== undefined && {
      zanPort: whole('--zan-port', flags.zanPort, 1, 65_535 - nodes),
    }),
    ...(etcd !== undefined && { etcd }),
    etcdFiles: parseEtcdFiles(flags, etcd, flags.tls === true),
    fresh: flags.fresh === true,
    restart: flags.restart,
    tls: flags.tls === true,
  };
}

function whole(option: string, text: string, lowest: number, highest: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= lowest && value <= highest) return value;
  throw new KvorumError(
    'BAD_CONFIG',
    `${option} ${text}: must be a whole number from ${lowest} to ${highest}`,
  );
}

function copyPaste(plans: readonly ProcessPlan[], { data, tls }: StartOptions): string[] {
  const datanodes = plans.filter((plan) => plan.role === 'datanode');
  const [first] = datanodes;
  const http = plans.find((plan) => plan.role === 'placedriver')?.ports['http'];
  return [
    `  any Redis client     redis-cli -p ${first?.ports['gateway']}`,
    `  cluster clients      redis-cli -c -p ${first?.ports['cluster']}` +
      `   (cluster ports: ${datanodes.map((plan) => plan.ports['cluster']).join(', ')})`,
    ...(tls
      ? [
          `  over TLS             redis-cli --tls --cacert ${ownFiles(data, 'ca')['ca-file']} ` +
            `-p ${first?.ports['gateway']}`,
        ]
      : []),
    `  HTTP API             curl http://127.0.0.1:${http}/cluster/stats`,
    '  Ctrl-C stops it; the next start has its data',
  ];
}

/** kvorum as `kvorum start` runs it: three datanodes, three replicas of every partition. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Server } from '../tools/children.ts';
import { Datanodes } from './datanodes.ts';
import { freePorts } from './ports.ts';
import { ask, writes } from './redis-door.ts';
import type { Running } from './system.ts';

export interface RunningKvorum extends Running {
  /** Of the first datanode. */
  readonly gatewayPort: number;
  readonly clusterPort: number;
  /** Of the placedriver. */
  readonly httpPort: number;
  readonly partitions: number;
  readonly datanodes: Datanodes;
}

const NODES = 3;
/** As `kvorum start` makes them unless it is told otherwise. */
const PARTITIONS = 8;
/** To open one replica more, when the disk is slow and the cores are few. */
const REPLICA_MS = 300;

const here = fileURLToPath(new URL('.', import.meta.url));
export const kvorumScript = join(here, '..', '..', '..', 'dist', 'cli', 'kvorum.js');

export async function startKvorum(
  directory: string,
  script = kvorumScript,
  partitions = PARTITIONS,
): Promise<RunningKvorum> {
  const data = join(directory, 'kvorum');
  const gatewayPort = await freePorts(NODES);
  const clusterPort = await freePorts(NODES, gatewayPort + NODES);
  const httpPort = await freePorts(2, clusterPort + NODES);
  const args = [script, 'start', '--data', data, '--nodes', NODES, '--replicas', NODES];
  args.push('--port', gatewayPort, '--cluster-port', clusterPort, '--http-port', httpPort);
  args.push('--partitions', partitions);
  const datanodes = new Datanodes(data, script, NODES, partitions);
  const server = new Server('kvorum start', process.execPath, [...args, '--no-restart'], {
    endsWithUs: true,
  });
  try {
    await server.until(40_000 + partitions * REPLICA_MS, 'it says that it is ready', () =>
      server.output.includes('kvorum is ready'),
    );
    for (let node = 0; node < NODES; node++) {
      await server.until(20_000, 'a write is answered', () => writes(gatewayPort + node));
    }
    await server.until(20_000, 'every node leads a partition', () => allLead(clusterPort));
    const info = await ask(gatewayPort, 'info', 'server');
    return {
      gatewayPort,
      clusterPort,
      ...{ httpPort, partitions, datanodes },
      version: /kvorum_version:(\S+)/.exec(info)?.[1] ?? 'unknown',
      fsync:
        "a synced write of the raft log on a quorum of the 3 datanodes before the answer; can't be off",
      processes: processesOf(data),
      check: () => {
        server.check();
        datanodes.check();
      },
      stop: async () => {
        await Promise.all([datanodes.stop(), server.stop()]);
      },
    };
  } catch (failure) {
    await server.stop();
    throw failure;
  }
}

/** redis-benchmark --cluster skips a node that has no slot, and would measure two nodes. */
async function allLead(port: number): Promise<boolean> {
  const nodes = (await ask(port, 'cluster', 'nodes')).split('\n');
  return nodes.length === NODES && nodes.every((line) => line.trim().split(' ').length > 8);
}

/** The datanodes and the placedriver, by the run files they write. */
function processesOf(data: string) {
  const directory = join(data, 'run');
  const names = readdirSync(directory).filter((name) => name.endsWith('.json'));
  return names.sort().map((file) => {
    const { name, pid } = JSON.parse(readFileSync(join(directory, file), 'utf8')) as {
      readonly name: string;
      readonly pid: number;
    };
    return { name, pid };
  });
}

/** The clients of the matrix: each asks all the time, and sorts what it is answered. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis-5';
import { createClient, createCluster } from 'redis';
import { pythonWithRedis } from '../python-redis.mjs';
import { pause, type TestCluster, within } from './cluster.ts';

export interface Tally {
  reads: number;
  writes: number;
  /** Answered with an error. */
  readonly errors: string[];
  /** Answered that a write may or may not have taken effect. */
  readonly unknown: string[];
  /** Without an answer: the connection ended, or the library gave up. */
  readonly lost: string[];
}

export interface MatrixClient {
  readonly name: string;
  readonly door: 'cluster' | 'gateway';
  readonly tally: Tally;
  stop(): Promise<void>;
}

interface Asking {
  get(key: string): Promise<unknown>;
  set(key: string, value: string): Promise<unknown>;
  close(): void;
}

const LOOPS = 2;
const KEYS = 32;
const PAUSE_MS = 5;

const newTally = (): Tally => ({ reads: 0, writes: 0, errors: [], unknown: [], lost: [] });

/** What a server says begins with a code in capitals; what libraries say of it, in words. */
export function note(tally: Tally, failure: unknown): void {
  const text = failure instanceof Error ? failure.message || failure.name : String(failure);
  if (text.startsWith('UNKNOWNOUTCOME')) tally.unknown.push(text);
  else if (/^[A-Z]{2,} /.test(text) || /redirections/i.test(text)) tally.errors.push(text);
  else tally.lost.push(text);
}

async function askAll(name: string, door: MatrixClient['door'], open: () => Promise<Asking>) {
  const tally = newTally();
  const asking = await open();
  let running = true;
  const loop = async (number: number) => {
    for (let turn = 0; running; turn++) {
      const key = `matrix:${name}:${number}:${turn % KEYS}`;
      try {
        if (turn % 4 === 0) {
          await asking.set(key, String(turn));
          tally.writes++;
        } else {
          await asking.get(key);
          tally.reads++;
        }
      } catch (failure) {
        note(tally, failure);
      }
      await pause(PAUSE_MS);
    }
  };
  const loops = Array.from({ length: LOOPS }, (_, number) => loop(number));
  const stop = async () => {
    running = false;
    await Promise.race([Promise.all(loops), pause(10_000)]);
    asking.close();
  };
  return { name, door, tally, stop } satisfies MatrixClient;
}

/** Runs a tool again and again; `judge` reads what it printed. */
function runAgain(
  name: string,
  command: readonly [program: string, ...args: string[]],
  input: string,
  judge: (tally: Tally, output: string, code: number | null) => void,
): MatrixClient {
  const tally = newTally();
  const [program, ...args] = command;
  let running = true;
  const once = () =>
    new Promise<void>((resolve) => {
      const child = spawn(program, args);
      let output = '';
      const hear = (chunk: Buffer) => {
        output += chunk.toString();
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      child.stdin.on('error', () => {});
      child.stdin.end(input);
      const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
      child.once('close', (code) => {
        clearTimeout(timer);
        judge(tally, output, code);
        resolve();
      });
    });
  const loop = (async () => {
    while (running) {
      await once();
      await pause(50);
    }
  })();
  const stop = async () => {
    running = false;
    await loop;
  };
  return { name, door: 'cluster', tally, stop };
}

function redisCli(cluster: TestCluster): MatrixClient {
  const lines = Array.from({ length: 40 }, (_, at) => {
    return at % 4 === 0 ? `SET matrix:cli:${at} ${at}` : `GET matrix:cli:${at - (at % 4)}`;
  });
  const args = ['-c', '-p', String(cluster.clusterPort(0)), '--no-raw'] as const;
  return runAgain('redis-cli -c', ['redis-cli', ...args], lines.join('\n'), (tally, output) => {
    for (const line of output.split('\n')) {
      if (line === 'OK') tally.writes++;
      else if (/^(?:".*"|\(nil\))$/.test(line)) tally.reads++;
      else if (line.startsWith('(error) ')) note(tally, line.slice('(error) '.length));
      else if (!/^(?:|-> Redirected.*|\(\d+\.\d+s\))$/.test(line)) tally.lost.push(line);
    }
  });
}

function redisBenchmark(cluster: TestCluster): MatrixClient {
  const requests = 60;
  const counts = ['-t', 'set,get', '-n', String(requests), '-c', '2', '-r', '1000', '-q'];
  const args = ['--cluster', '-p', String(cluster.clusterPort(0)), ...counts];
  const name = 'redis-benchmark --cluster';
  return runAgain(name, ['redis-benchmark', ...args], '', (tally, output, code) => {
    const said = /Error from server: (.*)/.exec(output) ?? /^ERROR:? (.*)/m.exec(output);
    if (said !== null) note(tally, said[1]);
    else if (code !== 0) tally.lost.push(lastLine(output) ?? `ended with ${code}`);
    else {
      tally.reads += requests;
      tally.writes += requests;
    }
  });
}

/**
 * A script of another language that asks by itself and says a line for each request, until its input
 * ends: `ready VERSION` first. Rejects with what it says when it does not begin.
 */
async function askElsewhere(
  nameOf: (version: string) => string,
  door: MatrixClient['door'],
  [program, ...args]: readonly [program: string, ...args: string[]],
): Promise<MatrixClient> {
  const tally = newTally();
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-2_000);
  });
  child.stdin.on('error', () => {});
  const ready = new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => reject(new Error(`${program} ended with ${code}: ${errors}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [kind = '', text = ''] = /^(\w+) ?(.*)$/.exec(line)?.slice(1) ?? [];
      if (kind === 'ready') resolve(text);
      else if (kind === 'read') tally.reads++;
      else if (kind === 'write') tally.writes++;
      else if (kind === 'unknown') tally.unknown.push(text);
      else if (kind === 'lost') tally.lost.push(text);
      else tally.errors.push(kind === 'error' ? text : line);
    });
  });
  const version = await within(30_000, ready, () => `${program} ${args[0]} not ready: ${errors}`);
  const stop = async () => {
    child.stdin.end();
    const late = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await ended;
    clearTimeout(late);
  };
  return { name: nameOf(version), door, tally, stop };
}

const scriptOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** As Debian packages them; `npm test` installs them there. */
function clientsOfDebian(cluster: TestCluster): Promise<MatrixClient>[] {
  const python = pythonWithRedis();
  if (python === undefined) {
    throw new Error('no Python has redis-py: install python3-redis (npm test does on Debian)');
  }
  const nodes = [0, 1, 2].map((at) => String(cluster.clusterPort(at)));
  const gateway = String(cluster.gatewayPort(0));
  const redisPy = (mode: 'cluster' | 'replicas' | 'gateway') => {
    const ports = mode === 'gateway' ? [gateway] : nodes;
    return askElsewhere(
      (version) => `redis-py ${version}${mode === 'replicas' ? ', read_from_replicas' : ''}`,
      mode === 'gateway' ? 'gateway' : 'cluster',
      [python, scriptOf('ask-redis-py.py'), mode, ...ports],
    );
  };
  const perl = ['perl', scriptOf('ask-perl.pl'), gateway] as const;
  return [
    ...(['cluster', 'replicas', 'gateway'] as const).map(redisPy),
    askElsewhere((version) => `Redis.pm ${version} (Perl)`, 'gateway', perl),
  ];
}

/** Its progress, one over the other, is not what it says last. */
function lastLine(output: string): string | undefined {
  const lines = output.split(/[\r\n]+/).map((line) => line.trim());
  return lines.filter((line) => /^(?:Error|ERROR|Could not)/.test(line)).at(-1);
}

/** All clients of the matrix, asking already. */
export async function openClients(cluster: TestCluster): Promise<MatrixClient[]> {
  const nodes = [0, 1, 2].map((at) => ({ host: '127.0.0.1', port: cluster.clusterPort(at) }));
  const gateway = { host: '127.0.0.1', port: cluster.gatewayPort(0) };
  const ioredis = async (Library: typeof Cluster, scaleReads: 'master' | 'slave' | 'all') => {
    const client = new Library(nodes, { scaleReads });
    client.on('error', () => {});
    return {
      get: (key: string) => client.get(key),
      set: (key: string, value: string) => client.set(key, value),
      close: () => client.disconnect(),
    };
  };
  const nodeRedis = async (useReplicas: boolean) => {
    const rootNodes = nodes.map((socket) => ({ socket }));
    const client = createCluster({ rootNodes, useReplicas });
    client.on('error', () => {});
    await client.connect();
    return {
      get: (key: string) => client.get(key),
      set: (key: string, value: string) => client.set(key, value),
      close: () => client.destroy(),
    };
  };
  const ofGateway = async () => {
    const client = new Redis(gateway);
    client.on('error', () => {});
    return {
      get: (key: string) => client.get(key),
      set: (key: string, value: string) => client.set(key, value),
      close: () => client.disconnect(),
    };
  };
  const nodeRedisOfGateway = async () => {
    const client = createClient({ socket: gateway });
    client.on('error', () => {});
    await client.connect();
    return {
      get: (key: string) => client.get(key),
      set: (key: string, value: string) => client.set(key, value),
      close: () => client.destroy(),
    };
  };
  const five = Cluster5 as unknown as typeof Cluster;
  const scales = ['master', 'slave', 'all'] as const;
  const open: Promise<MatrixClient>[] = [
    ...scales.map((scale) =>
      askAll(`ioredis 6.0.0, scaleReads ${scale}`, 'cluster', () => ioredis(Cluster, scale)),
    ),
    ...scales.map((scale) =>
      askAll(`ioredis 5.11.0, scaleReads ${scale}`, 'cluster', () => ioredis(five, scale)),
    ),
    askAll('node-redis 6.3.1', 'cluster', () => nodeRedis(false)),
    askAll('node-redis 6.3.1, useReplicas', 'cluster', () => nodeRedis(true)),
    askAll('ioredis 6.0.0', 'gateway', ofGateway),
    askAll('node-redis 6.3.1', 'gateway', nodeRedisOfGateway),
    ...clientsOfDebian(cluster),
  ];
  return [...(await Promise.all(open)), redisCli(cluster), redisBenchmark(cluster)];
}

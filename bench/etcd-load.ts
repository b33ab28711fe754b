/**
 * A program: closed-loop clients of one etcd endpoint by gRPC, each on a connection of its own with
 * one request under way, as redis-benchmark's are. It runs as a process of its own so that what it
 * costs is counted apart. Takes an EtcdLoad as JSON in its only argument; prints BEGIN when it is
 * warm and begins to measure, and an EtcdLoadResult as JSON when it has measured.
 */
import { Client, credentials } from '@grpc/grpc-js';
import { BEGIN, type EtcdLoad, type EtcdLoadResult } from './etcd-load-words.ts';

const as = (bytes: Buffer) => bytes;
const PUT = '/etcdserverpb.KV/Put';
const RANGE = '/etcdserverpb.KV/Range';

/** A protobuf field of bytes. */
function field(number: number, bytes: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = bytes.length; ; rest >>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) break;
  }
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes]);
}

function keyOf(number: number): Buffer {
  return Buffer.from(`key:${String(number).padStart(12, '0')}`);
}

class EtcdClients {
  readonly #load: EtcdLoad;
  readonly #clients: readonly Client[];
  readonly #value: Buffer;

  constructor(load: EtcdLoad) {
    this.#load = load;
    this.#value = field(2, Buffer.alloc(load.valueBytes, 'x'));
    this.#clients = Array.from({ length: load.clients }, () => {
      // Without its own pool every client would share one connection.
      const options = { 'grpc.use_local_subchannel_pool': 1 };
      return new Client(load.endpoint, credentials.createInsecure(), options);
    });
  }

  /** Every client goes on until `next` has no key for it; `done` hears of each answer. */
  async drive(
    test: EtcdLoad['test'],
    next: () => number | undefined,
    done: (ms: number, hit: boolean) => void,
  ): Promise<void> {
    const one = async (client: Client) => {
      for (let key = next(); key !== undefined; key = next()) {
        const began = performance.now();
        const answer = await this.#request(client, test, key);
        // A range's answer is longer than the value only if it holds the value.
        done(performance.now() - began, answer.length > this.#load.valueBytes);
      }
    };
    await Promise.all(this.#clients.map(one));
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  #request(client: Client, test: EtcdLoad['test'], key: number): Promise<Buffer> {
    const wanted = field(1, keyOf(key));
    const [method, bytes] =
      test === 'SET' ? [PUT, Buffer.concat([wanted, this.#value])] : [RANGE, wanted];
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(method, as, as, bytes, (error, answer) => {
        if (error || answer === undefined) reject(error ?? new Error('no answer'));
        else resolve(answer);
      });
    });
  }
}

async function main(load: EtcdLoad): Promise<EtcdLoadResult> {
  const clients = new EtcdClients(load);
  try {
    if (load.fill) {
      let filled = 0;
      const next = () => (filled < load.keySpace ? filled++ : undefined);
      await clients.drive('SET', next, () => {});
    }
    const until = (seconds: number) => {
      const deadline = performance.now() + seconds * 1_000;
      return () =>
        performance.now() < deadline ? Math.floor(Math.random() * load.keySpace) : undefined;
    };
    await clients.drive(load.test, until(load.warmSeconds), () => {});
    const latencies: number[] = [];
    let hits = 0;
    process.stdout.write(`${BEGIN}\n`);
    const cpu = process.cpuUsage();
    const began = performance.now();
    await clients.drive(load.test, until(load.seconds), (ms, hit) => {
      latencies.push(ms);
      if (hit) hits++;
    });
    const seconds = (performance.now() - began) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    const sorted = Float64Array.from(latencies).sort();
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
    return {
      perSecond: sorted.length / seconds,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      hits,
      requests: sorted.length,
      cpuSeconds: (user + system) / 1e6,
    };
  } finally {
    clients.close();
  }
}

const [, , given] = process.argv;
if (given === undefined) throw new Error('etcd-load: an EtcdLoad as JSON is missing');
try {
  const result = await main(JSON.parse(given) as EtcdLoad);
  process.stdout.write(`${JSON.stringify(result)}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

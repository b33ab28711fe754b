/** Where the cluster is, and how its cases are told. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'redis';

const [host, port] = process.env.KVORUM_GATEWAYS.split(',')[0].split(':');

/** Any key on any node. */
export const gateway = { host, port: Number(port) };
/** For clients of Redis Cluster; none beside a redis-server. */
export const cluster = process.env.KVORUM_CLUSTER?.split(',').map((place) => {
  const [host, port] = place.split(':');
  return { host, port: Number(port) };
});
/** A namespace of one partition, whose transactions may change keys of any names. */
export const ONE_PARTITION = 1;

export async function makeNamespace() {
  if (process.env.KVORUM_HTTP === undefined) return;
  const response = await fetch(`http://${process.env.KVORUM_HTTP}/v1/namespaces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: `db${ONE_PARTITION}`, partitions: 1, replicas: 3 }),
  });
  if (!response.ok && response.status !== 409) throw new Error(await response.text());
  await eventually(async () => {
    const client = await connect({ database: ONE_PARTITION });
    await client.set('ready', '1');
    client.destroy();
    return true;
  });
}

/** A client of node-redis, connected. */
export async function connect(options = {}) {
  const client = createClient({ socket: gateway, ...options });
  // It reconnects by itself; what fails meanwhile is the case's business.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Kills a datanode, which its supervisor starts again. */
export function killDatanode(name) {
  if (process.env.KVORUM_DIRECTORY === undefined) return;
  const file = join(process.env.KVORUM_DIRECTORY, 'run', `${name}.json`);
  process.kill(JSON.parse(readFileSync(file, 'utf8')).pid, 'SIGKILL');
}

export async function eventually(isSo, ms = 60_000) {
  const end = Date.now() + ms;
  for (;;) {
    let why = 'it is not so';
    try {
      if (await isSo()) return;
    } catch (error) {
      why = error.message;
    }
    if (Date.now() > end) throw new Error(`not after ${ms} ms: ${why}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Tries one thing, for a minute at most; it fails when it throws. */
export async function attempt(name, does) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('not within 90 s')), 90_000);
  });
  try {
    await Promise.race([does(), late]);
    console.log(`ok ${name}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`not ok ${name}: ${String(error.message).replaceAll('\n', ' ').slice(0, 300)}`);
  } finally {
    clearTimeout(timer);
  }
}

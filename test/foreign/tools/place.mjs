/** Programs that are started beside the cluster, and how cases are told. */
import { execFile, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { promisify } from 'node:util';

const run = promisify(execFile);
const places = (name) => process.env[name].split(',');

export const gateway = places('KVORUM_GATEWAYS')[0];
export const cluster = places('KVORUM_CLUSTER');
export const directory = process.env.KVORUM_DIRECTORY;

/** What redis-cli prints, asked at a place. */
export async function cli(place, ...args) {
  const [host, port] = place.split(':');
  const { stdout } = await run('redis-cli', ['-h', host, '-p', port, ...args], { timeout: 60_000 });
  return stdout.trim();
}

/** A free port, which nobody takes in the moment before it is used. */
export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Runs a program while `use` does, once `isReady` resolves. `use` is given what it has said. */
export async function beside([command, ...args], isReady, use) {
  const child = spawn(command, args);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const said = { text: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part) => (said.text += part));
  try {
    await eventually(isReady);
    return await use(said);
  } finally {
    child.kill();
    await ended;
  }
}

/** Resolves once `isSo` does, within 30 s. */
export async function eventually(isSo) {
  const end = Date.now() + 30_000;
  for (;;) {
    try {
      return await isSo();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Tries one thing; it fails when it throws. */
export async function attempt(name, does) {
  try {
    await does();
    console.log(`ok ${name}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`not ok ${name}: ${String(error.message).replaceAll('\n', ' ').slice(0, 400)}`);
  }
}

/**
 * A world of its own for a run: network, mounts and processes in namespaces that end with it, so
 * that whatever happens, the kernel removes bridges, filters, mounts and processes. What the run
 * itself would do on a signal it does when its standard input ends.
 */
import { spawn, spawnSync } from 'node:child_process';

const INSIDE = 'KVORUM_CHAOS_DIRECTORY';
const STOP_MS = 20_000;
/** All that a run does with namespaces, once. */
const PROBE = [
  'mount -t tmpfs tmpfs /run && mkdir /run/netns',
  'ip netns add kvprobe',
  'ip link add kvbridge type bridge',
  'ip link add kvveth type veth peer name eth0 netns kvprobe',
  'nsenter --net=/run/netns/kvprobe nft list ruleset',
].join(' && ');

/** The directory that the outside made; undefined: this process is the outside. */
export const insideDirectory = (): string | undefined => process.env[INSIDE];

function unshareFlags(): string[] {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  return [...user, '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
}

/** Why there can be no such world here, or undefined. */
export function noPrivateWorld(): string | undefined {
  const { status, error, stderr } = spawnSync('unshare', [...unshareFlags(), 'sh', '-c', PROBE]);
  if (error !== undefined) return `unshare cannot run: ${error.message}`;
  if (status === 0) return undefined;
  return stderr.toString().trim().split('\n').at(-1) ?? `unshare ended with ${status}`;
}

/** Runs this very command inside, with `directory` for its files; resolves to the exit code. */
export function runInside(directory: string, isPrivate: boolean): Promise<number> {
  const own = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const [command, ...args] = isPrivate ? ['unshare', ...unshareFlags(), ...own] : own;
  const child = spawn(command!, args, {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { ...process.env, [INSIDE]: directory },
    detached: true, // a terminal's Ctrl-C is for the outside, which passes it on
  });
  child.stdin?.on('error', () => {});
  const end = () => {
    child.stdin?.end();
    setTimeout(() => child.kill('SIGKILL'), STOP_MS).unref();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 130));
  });
}

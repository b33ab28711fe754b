/** Single commands to a Redis server by redis-cli, for set-up and checks, never for measuring. */
import { run } from '../tools/children.ts';

/** The answer's text, errors included; throws when nobody answers. */
export async function ask(port: number, ...command: readonly string[]): Promise<string> {
  const args = ['-h', '127.0.0.1', '-p', port, ...command];
  const { stdout, stderr, code } = await run('redis-cli', args, { timeoutMs: 60_000 });
  if (code !== 0) throw new Error(`redis-cli ${args.join(' ')}: ${stderr}${stdout}`);
  return stdout.trim();
}

/** True when a write is answered with OK. */
export async function writes(port: number): Promise<boolean> {
  try {
    return (await ask(port, 'set', 'bench:ready', '1')) === 'OK';
  } catch {
    return false;
  }
}

export function keysOf(port: number) {
  return {
    count: async () => Number(await ask(port, 'dbsize')),
    /** All of their names: of few keys. */
    names: async () => (await ask(port, 'keys', '*')).split('\n'),
    deleteAll: async () => {
      const answer = await ask(port, 'flushall');
      if (answer !== 'OK') throw new Error(`FLUSHALL: ${answer}`);
    },
  };
}

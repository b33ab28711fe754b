import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { guard, killAll, pause, run, Server } from '../../tools/children.ts';

afterEach(killAll);

/** A process that was killed and not waited for yet is gone, too. */
function isGone(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}

const shell = (script: string) => new Server('shell', 'sh', ['-c', script]);
const grandchild = (server: Server) => Number(server.output.trim());

describe('a server', () => {
  test('that dies is told of with its last words', async () => {
    const server = shell('echo no room >&2; exit 3');
    const ready = server.until(10_000, 'never', () => false);
    await expect(ready).rejects.toThrow('shell ended with 3: no room');
    expect(() => server.check()).toThrow('ended with 3');
  });

  test('with a life line ends when that does, or by the signal it is sent', async () => {
    const reader = () =>
      new Server('reader', 'sh', ['-c', 'echo up; cat; echo over'], { lifeLine: true });
    const [one, other] = [reader(), reader()];
    for (const server of [one, other]) {
      await server.until(10_000, 'it is up', () => server.output.includes('up'));
    }
    await one.stop();
    expect(one.process.exitCode).toBe(0);
    await other.endBy('SIGKILL');
    expect(other.process.signalCode).toBe('SIGKILL');
    for (const server of [one, other]) server.check();
  });

  test('under guard ends with who started it, also when that is killed', async () => {
    const [command = 'sleep', ...words] = [...guard(), 'sleep', '60'];
    const script =
      `const child = require('node:child_process').spawn(${JSON.stringify(command)}, ` +
      `${JSON.stringify(words)}, { detached: true }); console.log(child.pid);` +
      'setInterval(() => {}, 1_000);';
    const parent = new Server('parent', process.execPath, ['-e', script]);
    await parent.until(10_000, 'it has a child', () => parent.output.includes('\n'));
    const child = grandchild(parent);
    expect(isGone(child)).toBe(false);
    const group = parent.pid;
    // not the group: the child has one of its own, as servers have
    process.kill(group, 'SIGKILL');
    for (let at = 0; at < 100 && !isGone(child); at++) await pause(20);
    const isGuarded = guard().length > 0;
    expect(isGone(child)).toBe(isGuarded);
    if (!isGuarded) process.kill(child);
  });

  test('keeps its process id under guard', async () => {
    const server = new Server('shell', 'sh', ['-c', 'echo $$; sleep 60'], { endsWithUs: true });
    await server.until(10_000, 'it says its id', () => server.output.includes('\n'));
    expect(grandchild(server)).toBe(server.pid);
    await server.stop();
  });

  test('that is not ready in time is told of with what was waited for', async () => {
    const server = shell('sleep 60');
    await expect(server.until(100, 'it sings', () => false)).rejects.toThrow('it sings');
    await server.stop();
    expect(() => server.check()).not.toThrow();
  });

  test('that cannot be run is named', async () => {
    const server = new Server('x', 'no-such-program', []);
    await expect(server.until(10_000, 'x', () => false)).rejects.toThrow('no-such-program');
  });

  test('that dies leaves no orphan', async () => {
    const server = shell('sleep 60 & echo $!; exec sleep 60');
    await server.until(10_000, 'it has a child', () => grandchild(server) > 0);
    process.kill(server.pid, 'SIGKILL');
    await expect.poll(() => isGone(grandchild(server))).toBe(true);
  });

  test('that runs when the benchmark ends, ends with all it has started', async () => {
    const server = shell('trap "" TERM; sleep 60 & echo $!; wait');
    await server.until(10_000, 'it has a child', () => grandchild(server) > 0);
    const { pid } = server;
    killAll();
    await expect.poll(() => isGone(pid) && isGone(grandchild(server))).toBe(true);
  });
});

describe('a program', () => {
  test('is run to its end, its output heard meanwhile', async () => {
    const heard: string[] = [];
    const outcome = await run('sh', ['-c', 'echo one; sleep 0.2; echo two; echo bad >&2; exit 4'], {
      timeoutMs: 10_000,
      onOutput: (text) => heard.push(text),
    });
    expect(outcome).toEqual({ stdout: 'one\ntwo\n', stderr: 'bad\n', code: 4 });
    expect(heard.at(-1)).toBe('one\ntwo\n');
    expect('one\ntwo\n'.startsWith(heard[0] ?? '?')).toBe(true);
  });

  test('is ended when whoever hears its output fails', async () => {
    const onOutput = (text: string) => {
      throw new Error(`cannot read ${text.trim()}`);
    };
    const options = { timeoutMs: 30_000, onOutput };
    const began = performance.now();
    await expect(run('sh', ['-c', 'echo this; sleep 60'], options)).rejects.toThrow('read this');
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  test('that takes too long is ended', async () => {
    const began = performance.now();
    await expect(run('sleep', ['60'], { timeoutMs: 100 })).rejects.toThrow('no end in 100 ms');
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});

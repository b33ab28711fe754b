import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { localSockets } from '../../src/cli/local-sockets.ts';
import { systemClock } from '../../src/common/clock.ts';
import { lockDataDir } from '../../src/common/data-lock.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';

let dir: string;
let debugged: string[];
const logger = { ...silentLogger, debug: (message: string) => void debugged.push(message) };
const sockets = localSockets(logger);

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-sockets-'));
  debugged = [];
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe.skipIf(process.platform !== 'linux')('a socket of the file system', () => {
  test.each([
    ['short', 'data'],
    ['longer than an address', 'd'.repeat(120)],
  ])('answers until it is closed, with no data, at a path that is %s', async (_, name) => {
    mkdirSync(join(dir, name));
    const path = join(dir, name, 'socket');
    expect(await sockets.answers(path)).toBe(false);
    const listening = await sockets.listen(path);
    expect(listening, debugged.join()).toBeDefined();
    expect(await sockets.answers(path)).toBe(true);
    await listening!.close();
    expect(await sockets.answers(path)).toBe(false);
    expect(readdirSync(join(dir, name))).toEqual([]);
  });

  test('ends who calls, without a word', async () => {
    const listening = await sockets.listen(join(dir, 'socket'));
    const caller = connect(join(dir, 'socket'));
    let heard = 0;
    caller.on('data', ({ length }) => {
      heard += length;
    });
    await once(caller, 'close');
    expect(heard).toBe(0);
    await listening!.close();
  });

  test('does not answer where there is another file, or none can be', async () => {
    writeFileSync(join(dir, 'file'), '');
    expect(await sockets.answers(join(dir, 'file'))).toBe(false);
    expect(await sockets.answers(join(dir, 'file', 'socket'))).toBe(false);
    expect(await sockets.listen(join(dir, 'none', 'socket'))).toBeUndefined();
    expect(debugged).toEqual([expect.stringMatching(/^no socket: other containers cannot see/)]);
  });

  test('keeps no process alive; a killed one leaves it behind, where nobody answers', async () => {
    const module = join(import.meta.dirname, '../../dist/cli/local-sockets.js');
    const program = (then: string) => `
      import { localSockets } from ${JSON.stringify(module)};
      const logger = { debug: (...words) => console.error(...words) };
      await localSockets(logger).listen(${JSON.stringify(join(dir, 'socket'))});
      ${then}`;
    const run = (then: string) =>
      spawn(process.execPath, ['--input-type=module', '-e', program(then)], { stdio: 'pipe' });
    const [code] = await once(run(''), 'exit');
    expect(code).toBe(0);
    const killed = run('console.log("listens"); setInterval(() => {}, 1000);');
    await once(killed.stdout, 'data');
    expect(await sockets.answers(join(dir, 'socket'))).toBe(true);
    killed.kill('SIGSTOP');
    for (let knock = 0; knock < 600; knock++) {
      expect(await sockets.answers(join(dir, 'socket'))).toBe(true);
    }
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    expect(existsSync(join(dir, 'socket'))).toBe(true);
    expect(await sockets.answers(join(dir, 'socket'))).toBe(false);
  });
});

describe.skipIf(process.platform !== 'linux')('a data directory on a real disk', () => {
  const start = (at: number) =>
    lockDataDir(
      {
        clock: systemClock,
        disk: fsDisk,
        random: seededRandom(at),
        processId: 1,
        isAlive: () => true,
        birthOf: () => `boot/${at}`,
        sockets,
      },
      dir,
    );

  test('has one of the processes that are all number 1 of their containers', async () => {
    const lock = await start(0);
    await expect(start(1)).rejects.toThrow(`${dir} is in use by process 1; stop it`);
    expect(readdirSync(dir)).toHaveLength(2);
    await lock.release();
    expect(readdirSync(dir)).toEqual([]);
    for (let round = 1; round <= 50; round++) {
      const ends = await Promise.allSettled([1, 2, 3, 4].map((at) => start(10 * round + at)));
      const won = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
      expect(won, `round ${round}`).toHaveLength(1);
      expect(readdirSync(dir)).toEqual(['lock', expect.stringMatching(/^lock\.socket-/)]);
      await won[0]!.release();
    }
    expect(debugged).toEqual([]);
  });
});

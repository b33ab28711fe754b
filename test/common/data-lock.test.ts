import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type DataLock, lockDataDir } from '../../src/common/data-lock.ts';
import type { Disk } from '../../src/common/disk.ts';
import { messageOf } from '../../src/common/errors.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import { seededRandom } from '../../src/common/random.ts';
import { SimClock } from '../sim/clock.ts';
import { SimDisk } from '../sim/disk.ts';
import { Scheduler } from '../sim/scheduler.ts';

/** Processes of one machine that want `/d`, in virtual time; each disk operation takes its own. */
class Machine {
  readonly random;
  readonly scheduler: Scheduler;
  readonly disk: SimDisk;
  /** The birth of each process that lives. */
  readonly alive = new Map<number, string | undefined>();
  readonly holders = new Set<number>();
  holdersMost = 0;

  constructor(seed: string) {
    this.random = seededRandom(seed);
    this.scheduler = new Scheduler(this.random);
    const clock = new SimClock(this.scheduler);
    this.disk = new SimDisk({ random: this.random.fork('disk'), clock, latencyMs: 1 });
  }

  /** Rejects with the refusal; does nothing more once the process is dead. */
  async take(processId: number, birth?: string): Promise<DataLock> {
    this.alive.set(processId, birth);
    const lock = await lockDataDir(
      {
        disk: this.#diskOf(processId),
        random: this.random.fork(`process ${processId}`),
        processId,
        isAlive: (id) => this.alive.has(id),
        birthOf: (id) => this.alive.get(id),
      },
      '/d',
    );
    this.holders.add(processId);
    this.holdersMost = Math.max(this.holdersMost, this.holders.size);
    return {
      release: () => {
        this.holders.delete(processId);
        return lock.release();
      },
    };
  }

  kill(processId: number): void {
    this.alive.delete(processId);
    this.holders.delete(processId);
  }

  async until<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const done = () => {
      settled = true;
    };
    promise.then(done, done);
    await this.scheduler.runUntil(() => settled, 60_000);
    expect(settled, 'settled within a minute of virtual time').toBe(true);
    return promise;
  }

  pass(ms: number): Promise<void> {
    return this.scheduler.run(this.scheduler.nowMs + ms);
  }

  async write(name: string, text: string): Promise<void> {
    await this.until(this.disk.makeDir('/d'));
    const file = await this.until(this.disk.open(`/d/${name}`, 'create'));
    await this.until(file.pwrite(0, Buffer.from(text)));
    await file.close();
  }

  names(): Promise<string[]> {
    return this.until(this.disk.list('/d'));
  }

  /** Some operations wait for long, as of a process that stood still before. */
  #stall(): Promise<void> {
    if (this.random.below(8) > 0) return Promise.resolve();
    const ms = this.random.below(40);
    return new Promise((resolve) => void this.scheduler.after(ms, resolve));
  }

  /** What is asked of it after the process's death is not done, nor is it answered. */
  #diskOf(processId: number): Disk {
    return new Proxy(this.disk, {
      get: (disk, name) => {
        const member: unknown = Reflect.get(disk, name);
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]) => {
          await this.#stall();
          if (!this.alive.has(processId)) return new Promise(() => {});
          const result: unknown = await member.apply(disk, args);
          return this.alive.has(processId) ? result : new Promise(() => {});
        };
      },
    });
  }
}

const refused = (processId: number) => new RegExp(`^/d is in use by process ${processId}; stop it`);

describe('a data directory', () => {
  test('has one process; a dead one’s lock is taken over, a released one is free', async () => {
    const machine = new Machine('one');
    await machine.until(machine.take(10));
    await expect(machine.until(machine.take(11))).rejects.toThrow(refused(10));
    machine.kill(10);
    const second = await machine.until(machine.take(11));
    await expect(machine.until(machine.take(12))).rejects.toThrow(
      '/d is in use by process 11; stop it, or give this one its own data-dir ' +
        '(if that process is no kvorum, remove /d/lock)',
    );
    await machine.until(second.release());
    expect(await machine.names()).toEqual([]);
    await machine.until(machine.take(12));
    expect(await machine.names()).toEqual(['lock']);
  });

  test('is not given back by who has lost it: somebody removed the lock by hand', async () => {
    const machine = new Machine('by hand');
    const first = await machine.until(machine.take(10));
    await machine.until(machine.disk.unlink('/d/lock'));
    const second = await machine.until(machine.take(11));
    await machine.until(first.release());
    await expect(machine.until(machine.take(12))).rejects.toThrow(refused(11));
    await machine.until(second.release());
    await machine.until(second.release());
  });

  test.each([
    ['of an older build, whose process is gone', '9\n'],
    ['that a loss of power left empty', ''],
    ['that a loss of power left as zeros', '\0\0\0\0'],
    ['of the process that had this id before', '10\n'],
    ['of a life before, on a machine that tells births', '10 0123456789abcdef boot1/77\n'],
    ['whose id another program has now', '8 0123456789abcdef boot1/77\n'],
  ])('is taken over with a lock %s', async (_, text) => {
    const machine = new Machine(text);
    machine.alive.set(8, 'boot2/5');
    await machine.write('lock', text);
    await machine.until(machine.take(10, 'boot2/77'));
    expect(await machine.names()).toEqual(['lock']);
    await expect(machine.until(machine.take(11, 'boot2/78'))).rejects.toThrow(refused(10));
  });

  test.each([
    ['of an older build', '8\n', 8],
    ['of the same boot and start', '8 0123456789abcdef boot2/5\n', 8],
    ['of a process whose birth is not told', '7 0123456789abcdef boot2/5\n', 7],
    ['that this very process has taken', '10 0123456789abcdef boot2/77\n', 10],
  ])('is refused with a lock %s', async (_, text, holder) => {
    const machine = new Machine(text);
    machine.alive.set(7, undefined);
    machine.alive.set(8, 'boot2/5');
    await machine.write('lock', text);
    await expect(machine.until(machine.take(10, 'boot2/77'))).rejects.toThrow(refused(holder));
    expect(await machine.names()).toEqual(['lock']);
  });

  test.each(['EACCES', 'EPERM', 'EROFS'])(
    'that may not be written is told as such: %s',
    async (code) => {
      const machine = new Machine(code);
      machine.disk.failNext('open', { code, skip: 1 });
      await expect(machine.until(machine.take(10))).rejects.toMatchObject({
        code: 'BAD_CONFIG',
        message: expect.stringMatching(
          new RegExp(
            `^data-dir /d cannot be written \\(${code}: .*\\); give it to the user that runs`,
          ),
        ),
      });
    },
  );

  test('needs no hard links', async () => {
    const machine = new Machine('no links');
    for (const processId of [10, 11]) {
      machine.disk.failNext('link', { code: 'EPERM' });
      await machine.until(machine.take(processId));
      machine.kill(processId);
    }
    expect(await machine.names()).toEqual(['lock']);
  });
});

describe('processes that want it at once', () => {
  const states: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['nothing there', {}],
    ["a dead process's lock", { lock: '9 00000000000000aa boot1/1\n' }],
    ["an older build's lock", { lock: '9\n' }],
    ['an empty lock', { lock: '' }],
    [
      'a lock and a claim on it, both of dead processes',
      {
        lock: '8 00000000000000aa boot1/1\n',
        'lock.after-00000000000000aa': '9 00000000000000bb boot1/2\n',
        'lock.new-00000000000000bb': '',
      },
    ],
  ];

  test.each(states)('with %s: one has it, the others are told whose it is', async (_, files) => {
    for (let seed = 0; seed < 100; seed++) {
      const machine = new Machine(`at once ${seed}`);
      for (const [name, text] of Object.entries(files)) await machine.write(name, text);
      const takes = [10, 11, 12].map((processId) => machine.take(processId, `boot2/${processId}`));
      const ends = await machine.until(Promise.allSettled(takes));
      const [winner] = [...machine.holders];
      expect([...machine.holders], `seed ${seed}`).toHaveLength(1);
      for (const end of ends) {
        if (end.status === 'rejected') expect(messageOf(end.reason)).toMatch(refused(winner!));
      }
      expect(await machine.names()).toEqual(['lock']);
    }
  });

  test('while some are killed and some leave: never two', async () => {
    let taken = 0;
    for (let seed = 0; seed < 200; seed++) {
      const machine = new Machine(`killed ${seed}`);
      for (let processId = 10; processId < 30; processId++) {
        machine.take(processId, `boot2/${processId}`).then(
          async (lock) => {
            taken++;
            if (machine.random.below(2) === 0) return;
            await lock.release();
          },
          () => machine.kill(processId),
        );
        await machine.pass(machine.random.below(20));
        const victims = [...machine.alive.keys()];
        if (victims.length > 0 && machine.random.below(3) === 0) {
          machine.kill(victims[machine.random.below(victims.length)]!);
        }
      }
      expect(machine.holdersMost, `seed ${seed}`).toBeLessThanOrEqual(1);
      for (const processId of [...machine.alive.keys()]) machine.kill(processId);
      await machine.until(machine.take(50, 'boot2/50'));
      expect(await machine.names()).toEqual(['lock']);
    }
    expect(taken).toBeGreaterThan(500);
  });

  test('on a machine that loses power meanwhile: it is free afterwards', async () => {
    for (let seed = 0; seed < 100; seed++) {
      const machine = new Machine(`power ${seed}`);
      await machine.write('lock', '9 00000000000000aa boot1/1\n');
      for (const processId of [10, 11])
        machine.take(processId, `boot2/${processId}`).catch(() => {});
      await machine.pass(machine.random.float() * 20);
      machine.kill(10);
      machine.kill(11);
      machine.disk.crash('os');
      await machine.until(machine.take(12, 'boot3/12'));
      expect(await machine.names()).toEqual(['lock']);
    }
  });

  test('over a real disk: one of them has it', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'kvorum-lock-'));
    const take = (processId: number) =>
      lockDataDir(
        {
          disk: fsDisk,
          random: seededRandom(processId),
          processId,
          isAlive: (id) => id >= 10,
          birthOf: () => undefined,
        },
        dir,
      );
    for (let round = 0; round < 100; round++) {
      if (round % 2 === 0) writeFileSync(join(dir, 'lock'), '9\n');
      const ids = Array.from({ length: 4 }, (_, at) => 10 + 4 * round + at);
      const ends = await Promise.allSettled(ids.map(take));
      const won = ends.flatMap((end, at) => (end.status === 'fulfilled' ? [ids[at]!] : []));
      expect(won, `round ${round}`).toHaveLength(1);
      expect(readdirSync(dir)).toEqual(['lock']);
      expect(Number.parseInt(readFileSync(join(dir, 'lock'), 'utf8'), 10)).toBe(won[0]);
      for (const end of ends) if (end.status === 'fulfilled') await end.value.release();
    }
    rmSync(dir, { recursive: true });
  });
});

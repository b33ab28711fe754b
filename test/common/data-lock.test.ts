import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { type DataLock, lockDataDir } from '../../src/common/data-lock.ts';
import type { Disk } from '../../src/common/disk.ts';
import { messageOf } from '../../src/common/errors.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import type { LocalSockets } from '../../src/common/lock-socket.ts';
import { seededRandom } from '../../src/common/random.ts';
import { SimClock } from '../sim/clock.ts';
import { SimDisk } from '../sim/disk.ts';
import { Scheduler } from '../sim/scheduler.ts';

interface Place {
  /** Each process is number 1, alone in a container, which sees no other. */
  readonly containers?: boolean;
  /** Sockets tell who lives. */
  readonly sockets?: boolean;
}

const noSockets: LocalSockets = { listen: async () => undefined, answers: async () => false };
const containers: Place = { containers: true, sockets: true };
const isSocket = (name: string) => /^lock\.socket-[0-9a-f]{16}$/.test(name);

/** Processes of one machine that want `/d`, in virtual time; each disk operation takes its own. */
class Machine {
  readonly random;
  readonly scheduler: Scheduler;
  readonly disk: SimDisk;
  /** The birth of each process that lives. */
  readonly alive = new Map<number, string | undefined>();
  readonly holders = new Set<number>();
  holdersMost = 0;
  readonly #clock: SimClock;
  readonly #place: Place;
  /** Who listens at the socket with this id. */
  readonly #listening = new Map<string, number>();

  constructor(seed: string, place: Place = {}) {
    this.#place = place;
    this.random = seededRandom(seed);
    this.scheduler = new Scheduler(this.random);
    this.#clock = new SimClock(this.scheduler);
    const random = this.random.fork('disk');
    this.disk = new SimDisk({ random, clock: this.#clock, latencyMs: 1 });
  }

  /** Rejects with the refusal; does nothing more once the process is dead. */
  async take(processId: number, birth?: string): Promise<DataLock> {
    this.alive.set(processId, birth);
    const disk = this.#diskOf(processId);
    const lock = await lockDataDir(
      {
        clock: this.#clock,
        disk,
        random: this.random.fork(`process ${processId}`),
        ...this.#seenBy(processId, birth),
        sockets: this.#place.sockets ? this.#socketsOf(processId, disk) : noSockets,
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

  #seenBy(processId: number, birth: string | undefined) {
    if (this.#place.containers) {
      return { processId: 1, isAlive: (id: number) => id === 1, birthOf: () => birth };
    }
    const isAlive = (id: number) => this.alive.has(id);
    return { processId, isAlive, birthOf: (id: number) => this.alive.get(id) };
  }

  #socketsOf(processId: number, disk: Disk): LocalSockets {
    const idOf = (path: string) => /[0-9a-f]{16}/.exec(path)![0];
    return {
      listen: async (path) => {
        await (await disk.open(path, 'create')).close();
        this.#listening.set(idOf(path), processId);
        return { close: async () => void this.#listening.delete(idOf(path)) };
      },
      answers: async (path) =>
        (await disk.exists(path)) && this.alive.has(this.#listening.get(idOf(path)) ?? 0),
    };
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

  test('is refused with what is no lock, and its remedy', async () => {
    const machine = new Machine('no lock');
    await machine.write('lock', 'x'.repeat(2_000));
    await expect(machine.until(machine.take(10))).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message:
        '/d/lock is no lock of kvorum (/d/lock: 2000 bytes, more than 1024 allowed); move it away',
    });
  });

  test('on a full disk says where room is needed', async () => {
    const machine = new Machine('full');
    machine.disk.failNext('pwrite', { code: 'ENOSPC' });
    await expect(machine.until(machine.take(10))).rejects.toMatchObject({
      code: 'DISK_FAILED',
      message: expect.stringMatching(
        /^data-dir \/d cannot be written \(ENOSPC: .*\); make room or replace the disk, then start/,
      ),
    });
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

  test('with a lock that may not be read is told as such, too', async () => {
    const machine = new Machine('unreadable');
    await machine.write('lock', '9 0123456789abcdef boot/9\n');
    machine.disk.failNext('open', { code: 'EACCES' });
    await expect(machine.until(machine.take(10))).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(/^data-dir \/d cannot be written \(EACCES: /),
    });
    expect(await machine.names()).toEqual(['lock']);
  });

  test('on a disk that fails is not taken another way', async () => {
    const machine = new Machine('failing');
    machine.disk.failNext('link', { code: 'EIO' });
    await expect(machine.until(machine.take(10))).rejects.toThrow('EIO');
    expect(await machine.names()).toEqual([]);
  });

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

describe('a data directory that several containers have', () => {
  test('has one process, although each sees itself alone; a dead one’s lock is free', async () => {
    const machine = new Machine('containers', containers);
    await machine.until(machine.take(10, 'boot/10'));
    await expect(machine.until(machine.take(11, 'boot/11'))).rejects.toThrow(refused(1));
    expect(await machine.names()).toEqual(['lock', expect.stringMatching(/^lock\.socket-/)]);
    machine.kill(10);
    const second = await machine.until(machine.take(12, 'boot/12'));
    expect((await machine.names()).filter(isSocket)).toHaveLength(1);
    await expect(machine.until(machine.take(13, 'boot/13'))).rejects.toThrow(refused(1));
    await machine.until(second.release());
    expect(await machine.names()).toEqual([]);
  });

  test('is taken over from an older build, which has no socket', async () => {
    const machine = new Machine('older', containers);
    await machine.write('lock', '1 0123456789abcdef boot/9\n');
    await machine.until(machine.take(10, 'boot/10'));
    await expect(machine.until(machine.take(11, 'boot/11'))).rejects.toThrow(refused(1));
  });

  test('is held by who runs here, also when its socket is gone', async () => {
    const machine = new Machine('gone', { sockets: true });
    await machine.until(machine.take(10, 'boot/10'));
    const [socket] = (await machine.names()).filter(isSocket);
    await machine.until(machine.disk.unlink(`/d/${socket}`));
    await expect(machine.until(machine.take(11, 'boot/11'))).rejects.toThrow(refused(10));
  });

  test.each([
    ['was removed by hand', undefined],
    ['was replaced by an older one', '9 0123456789abcdef boot/9\n'],
  ])('is held by who listens here, also when its lock %s', async (_, older) => {
    const machine = new Machine('by hand', containers);
    const first = await machine.until(machine.take(10, 'boot/10'));
    await machine.until(machine.disk.unlink('/d/lock'));
    if (older !== undefined) await machine.write('lock', older);
    await expect(machine.until(machine.take(11, 'boot/11'))).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(
        /^\/d is in use by the process that listens at (\/d\/lock\.socket-[0-9a-f]+), which \/d\/lock did not name .*; stop that process \(fuser \1 tells/,
      ),
    });
    expect(await machine.names(), 'it has given the lock back').toEqual([
      expect.stringMatching(/^lock\.socket-/),
    ]);
    await machine.until(first.release());
    await machine.until(machine.take(12, 'boot/12'));
  });

  test('keeps the lock that older builds read', async () => {
    const machine = new Machine('format', containers);
    await machine.until(machine.take(10, 'boot/10'));
    const file = await machine.until(machine.disk.open('/d/lock', 'read'));
    const text = (await machine.until(file.pread(0, 99))).toString();
    expect(text).toMatch(/^1 [0-9a-f]{16} boot\/10\n$/);
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

  test.each<[string, Place]>([
    ['by their ids alone', {}],
    ['by sockets alone', containers],
  ])('while some are killed and some leave, seen %s: never two', async (_, place) => {
    let taken = 0;
    for (let seed = 0; seed < 200; seed++) {
      const machine = new Machine(`killed ${seed}`, place);
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
      const names = await machine.names();
      expect(names.filter((name) => !isSocket(name))).toEqual(['lock']);
      expect(names.filter(isSocket)).toHaveLength(place.sockets ? 1 : 0);
    }
    // a socket takes time too, in which some are killed
    expect(taken).toBeGreaterThan(place.sockets ? 250 : 500);
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
          clock: systemClock,
          disk: fsDisk,
          random: seededRandom(processId),
          processId,
          isAlive: (id) => id >= 10,
          birthOf: () => undefined,
          sockets: noSockets,
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

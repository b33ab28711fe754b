/** What a node does after it stood still, and when the node that leads has gone (decision 19). */
import { afterEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../../src/common/clock.ts';
import type { HostSettings } from '../../../../src/datanode/partition/host/host-settings.ts';
import { Trio } from '../trio.ts';

const NODES = ['n1', 'n2', 'n3'] as const;
const TICK_MS = 10;

let trio: Trio;

async function start(
  settings: Partial<HostSettings>,
  clocks: Readonly<Record<string, Clock>> = {},
) {
  trio = new Trio({ tickMs: TICK_MS, ...settings });
  for (const [node, clock] of Object.entries(clocks)) trio.clocks.set(node, clock);
  for (const node of NODES) await trio.start(node);
  expect(await trio.run('write', 'SET a 1')).toEqual(['+OK']);
}

afterEach(async () => {
  await trio.destroy();
  expect(trio.faults).toEqual([]);
});

const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const turn = () => new Promise((resolve) => setImmediate(resolve));
const terms = () => [...trio.hosts.values()].map((host) => host.local('default', 0)?.term);

/** Of a process that can be stopped: timers that come due meanwhile run when it goes on. */
class StoppableClock implements Clock {
  #due: (() => void)[] | undefined;

  monotonicMs = () => systemClock.monotonicMs();
  wallMs = () => systemClock.wallMs();

  setTimer(delayMs: number, run: () => void) {
    let isCancelled = false;
    const timer = systemClock.setTimer(delayMs, () => {
      if (this.#due === undefined) run();
      else this.#due.push(() => !isCancelled && run());
    });
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  endOfTurn(run: () => void): void {
    systemClock.endOfTurn(() => {
      if (this.#due === undefined) run();
      else this.#due.push(() => this.endOfTurn(run));
    });
  }

  stop(): void {
    this.#due ??= [];
  }

  go(): void {
    const due = this.#due ?? [];
    this.#due = undefined;
    for (const run of due) run();
  }
}

test('after a stall the sockets are read before the clock ticks, and it ticks once', async () => {
  const clock = new StoppableClock();
  await start({ electionTicks: 200 }, { n3: clock });
  const replica = trio.hosts.get('n3')!.local('default', 0)!;
  const order: string[] = [];
  const tick = replica.tick.bind(replica);
  replica.tick = () => {
    order.push('tick');
    tick();
  };
  await expect.poll(() => order.length).toBeGreaterThan(3);
  clock.stop();
  await rest(2 * TICK_MS);
  order.length = 0;
  await rest(30 * TICK_MS);
  expect(order).toEqual([]);
  // as Node.js goes on: the timers that are due, then what came in, then the end of the turn
  clock.go();
  order.push('what came in');
  await turn();
  expect(order).toEqual(['what came in', 'tick']);
});

test('all that stood still for many election timeouts go on under their leader', async () => {
  await start({ electionTicks: 20 });
  await expect.poll(() => new Set(terms()).size).toBe(1);
  const before = terms();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
  await rest(500);
  expect(terms()).toEqual(before);
  expect(await trio.run('read', 'GET a')).toEqual(['$1\r\n1']);
});

test('a closed connection to the leader’s node makes the others elect long before their time', async () => {
  // twenty seconds at least
  await start({ electionTicks: 2_000 });
  const { id, term } = await trio.leader();
  await trio.stop(`n${id}`);
  await rest(1_000);
  expect(terms()).toEqual([term, term]);
  trio.tellOfPeer(`n${id}`, false);
  const next = await trio.leader();
  expect(next.id).not.toBe(id);
  expect(next.term).toBeGreaterThan(term);
});

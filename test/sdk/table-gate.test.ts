/** Who waits for the first table: how each ends, and that nothing of it stays. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { Deadlines } from '../../src/sdk/deadlines.ts';
import type { Lookup } from '../../src/sdk/lookup.ts';
import type { PartitionTable } from '../../src/sdk/table.ts';
import { TableGate } from '../../src/sdk/table-gate.ts';
import { HandClock } from './hand-clock.ts';

const LOOK_MS = 20;

function scene(waitingMax = 2) {
  const clock = new HandClock();
  const deadlines = new Deadlines(clock, LOOK_MS);
  const lookup: { table: PartitionTable | undefined; error: Error | undefined } = {
    table: undefined,
    error: undefined,
  };
  let closed = false;
  const gate = new TableGate({
    clock,
    deadlines,
    lookup: lookup as Lookup,
    waitingMax,
    isClosed: () => closed,
  });
  const open = () => {
    lookup.table = {} as PartitionTable;
    gate.letIn();
  };
  const close = () => {
    closed = true;
    return deadlines.close();
  };
  return { clock, gate, lookup, open, close };
}

describe('nothing stays of one that has ended', () => {
  test.each(['let in', 'late', 'aborted'] as const)('%s', async (how) => {
    const { clock, gate, open } = scene();
    const abort = new AbortController();
    const call = gate.wait(LOOK_MS, abort.signal).then(
      () => 'table',
      ({ code }: { code: string }) => code,
    );
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(1);
    if (how === 'let in') open();
    else if (how === 'late') clock.run(LOOK_MS);
    else abort.abort();
    expect(await call).toBe({ 'let in': 'table', late: 'UNAVAILABLE', aborted: 'ABORTED' }[how]);
    expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
    expect(gate.waiting).toBe(0);
    clock.run(LOOK_MS);
    expect(clock.armed).toBe(0);
  });
});

test('the client closes: CLOSED, though the table came at last', async () => {
  const { gate, lookup, close } = scene();
  const call = expect(gate.wait(1_000)).rejects.toMatchObject({ code: 'CLOSED' });
  lookup.table = {} as PartitionTable;
  await close();
  await call;
});

test('so many commands; who only wants to know when takes no place and finds one', async () => {
  const { gate, open } = scene(2);
  const calls = [gate.wait(1_000), gate.wait(1_000)];
  const extra = gate.wait(1_000, undefined, true);
  await expect(gate.wait(1_000)).rejects.toMatchObject({ code: 'QUEUE_FULL' });
  expect(gate.waiting).toBe(2);
  let room = false;
  void gate.room().then(() => {
    room = true;
  });
  await Promise.resolve();
  expect(room).toBe(false);
  open();
  await Promise.all([...calls, extra]);
  expect([room, gate.waiting]).toEqual([true, 0]);
});

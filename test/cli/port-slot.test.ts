import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { isFree } from '../../src/cli/port-plan.ts';
import { type Slot, takeSlot } from '../../src/cli/port-slot.ts';

const slots: Slot[] = [];

afterEach(() => {
  for (const slot of slots.splice(0)) slot.release();
});

async function take(count: number): Promise<number> {
  const slot = await takeSlot(count);
  slots.push(slot);
  return slot.first;
}

function listen(port: number): Promise<Server> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, () => resolve(server));
  });
}

test('slots that are held at once share no port, though nobody listens on them yet', async () => {
  const firsts = await Promise.all(Array.from({ length: 20 }, () => take(82)));
  const sorted = firsts.sort((a, b) => a - b);
  for (const [at, first] of sorted.slice(1).entries()) {
    expect(first - sorted[at]!).toBeGreaterThan(82);
  }
  expect(sorted[0]).toBeGreaterThan(21_000);
  // systems take ports from 32,768 on for outgoing connections
  expect(sorted.at(-1)! + 82).toBeLessThan(32_768);
});

test('a slot is held until it is released', async () => {
  const first = await take(17);
  expect(await isFree(first - 1)).toBe(false);
  expect(await isFree(first)).toBe(true);
  slots.pop()!.release();
  await expect.poll(() => isFree(first - 1)).toBe(true);
});

test('a slot in which somebody else listens is not taken', async () => {
  const first = await take(82);
  const server = await listen(first + 40);
  try {
    slots.pop()!.release();
    await expect.poll(() => isFree(first - 1)).toBe(true);
    const slot = (first - 1 - 21_000) / 100;
    slots.push(await takeSlot(82, slot));
    expect(slots[0]!.first).not.toBe(first);
    expect(await isFree(first - 1)).toBe(true);
  } finally {
    server.close();
  }
});

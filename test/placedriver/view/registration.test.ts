import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { type Logger, silentLogger } from '../../../src/common/log.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { encodeRecord, keys } from '../../../src/meta/schema.ts';
import { Registration } from '../../../src/placedriver/view/registration.ts';

const meta = new MemoryMeta({ clock: systemClock });
const store = meta.connect();
const registration = new Registration({
  store: meta.connect(),
  clock: systemClock,
  logger: silentLogger,
  leaseTtlMs: 150,
});

afterEach(() => registration.stop());

test('is there while it runs, says how long the store is away, and comes back', async () => {
  const record = { version: 1, name: 'pd1', host: 'h', httpPort: 1, build: '9' };
  expect(registration.awayForMs).toBeGreaterThanOrEqual(0);
  registration.start(record);
  await expect.poll(() => store.get(keys.placedriver('pd1'))).toBeDefined();
  await expect.poll(() => registration.awayForMs).toBeUndefined();

  meta.available = false;
  await expect.poll(() => registration.awayForMs ?? 0).toBeGreaterThan(20);
  meta.available = true;
  await expect.poll(() => registration.awayForMs).toBeUndefined();
  // on a busy machine its lease may end once more
  await expect
    .poll(async () => JSON.parse((await store.get(keys.placedriver('pd1')))?.value ?? '{}'))
    .toEqual(record);

  await registration.stop();
  expect(await store.get(keys.placedriver('pd1'))).toBeUndefined();
});

describe('another placedriver has the name', () => {
  const own = { version: 1, name: 'pd1', host: 'h', httpPort: 1, build: '9' };
  const other = { ...own, host: 'elsewhere', httpPort: 2 };
  const key = keys.placedriver('pd1');

  function scene() {
    const told: string[] = [];
    const tell = (level: string) => (_what: string, fields?: object) => {
      told.push(`${level} ${(fields as { error?: string } | undefined)?.error}`);
    };
    const logger: Logger = { ...silentLogger, warn: tell('warn'), error: tell('error') };
    const second = new Registration({ store, clock: systemClock, logger, leaseTtlMs: 150 });
    let registered = false;
    void second.registered(new AbortController().signal).then(() => {
      registered = true;
    });
    return { second, told, isRegistered: () => registered };
  }

  test('it waits, says why, and leaves the registration alone; then it takes its place', async () => {
    const { second, told, isRegistered } = scene();
    const revision = await store.put(key, encodeRecord(other));
    second.start(own);
    try {
      await expect.poll(() => told).toHaveLength(2);
      const text = 'another placedriver has the name pd1, and is registered at elsewhere:2';
      expect(told.map((line) => line.split(': ')[0])).toEqual([`warn ${text}`, `error ${text}`]);
      expect(second.rival).toBe(told[1]!.slice('error '.length));
      expect(second.rival).toMatch(/give one of the two another name/);
      expect(second.awayForMs, 'the store is within reach').toBeUndefined();
      expect((await store.get(key))?.modRevision).toBe(revision);
      expect(isRegistered()).toBe(false);

      await store.delete(key);
      await expect.poll(isRegistered).toBe(true);
      expect(JSON.parse((await store.get(key))!.value)).toEqual(own);
      expect(second.rival).toBeUndefined();
    } finally {
      await second.stop();
    }
    expect(told).toHaveLength(2);
  });

  test.each([
    ['its own former life', encodeRecord(own)],
    ['what cannot be read', 'x'],
  ])('not so: %s is replaced at once', async (_what, value) => {
    const { second, told } = scene();
    await store.put(key, value);
    second.start({ ...own, build: '10' });
    await expect.poll(async () => (await store.get(key))?.value).toMatch('"build":"10"');
    await second.stop();
    expect(told).toEqual([]);
    expect(await store.get(key)).toBeUndefined();
  });
});

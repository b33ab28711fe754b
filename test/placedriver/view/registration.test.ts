import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { keys } from '../../../src/meta/schema.ts';
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
  const found = await store.get(keys.placedriver('pd1'));
  expect(JSON.parse(found!.value)).toEqual(record);

  await registration.stop();
  expect(await store.get(keys.placedriver('pd1'))).toBeUndefined();
});

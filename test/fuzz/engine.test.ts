/** The engine of `npm run fuzz`, small: every room under bent inputs; and what it must notice. */
import { afterAll, expect, test, vi } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { scale } from '../scale.ts';
import { bendBytes } from './engine/bend-bytes.ts';
import { Drive } from './engine/drive.ts';
import { inMiB, MemoryCheck } from './engine/memory.ts';
import type { Room } from './engine/room.ts';
import { type RoomName, rooms } from './rooms/all.ts';

vi.setConfig({ testTimeout: scale.fuzzMinutes * 60_000 });

const seed = Number(process.env['KVORUM_FUZZ_SEED'] ?? 1);
const opened: Room[] = [];
afterAll(async () => {
  for (const room of opened) await room.close?.();
});

test.each(Object.keys(rooms) as RoomName[])('%s: no input is too much', async (name) => {
  const room = await rooms[name]();
  opened.push(room);
  const inputs = Math.ceil((scale.fuzzInputs * room.share) / 100);
  const drive = new Drive(room, seed);
  const memory = new MemoryCheck();
  await drive.run(Math.ceil(inputs / 4) + room.seeds.length);
  memory.measure();
  await drive.run(inputs);
  memory.measure(drive.keptBytes);
  expect(memory.problem(), `${inMiB(memory.grownBytes)} MiB`).toBeUndefined();
  expect(drive.ways.size, 'bent inputs go ways that seeds do not').toBeGreaterThan(8);
});

/** A door with the given fault. */
function faulty(judge: Room['judge']): Drive {
  const room = { name: 'faulty', share: 1, seeds: [Buffer.from('abc')], bend: bendBytes, judge };
  return new Drive(room, 7, { inputMsMax: 100 });
}

test('an exception is told with the input and its number, and comes again', async () => {
  const drive = () =>
    faulty((input) => {
      if (input.length > 12) throw new Error('too long for me');
      return String(input.length);
    });
  const first = await drive()
    .run(10_000)
    .catch((failure: unknown) => failure);
  const second = await drive()
    .run(10_000)
    .catch((failure: unknown) => failure);
  expect(first).toMatchObject({ room: 'faulty', message: /input \d+: .*too long for me/s });
  expect(second).toMatchObject({ number: (first as { number: number }).number });
  expect((first as { input: Buffer }).input.length).toBeGreaterThan(12);
});

test('an input that takes too long each time is one that fails', async () => {
  const cpuMs = () => process.cpuUsage().user / 1_000;
  // on the wall's clock and on a core: without the core it would be no slower than others
  const stand = (ms: number) => {
    const [wallEnd, cpuEnd] = [performance.now() + ms, cpuMs() + ms];
    while (performance.now() < wallEnd || cpuMs() < cpuEnd);
    return 'stood';
  };
  let calls = 0;
  await faulty(() => stand(calls++ === 0 ? 110 : 0)).run(1);
  expect(calls).toBe(2);
  await expect(faulty(() => stand(110)).run(1)).rejects.toThrow(/input 0: .*took \d{3,} ms/s);
});

test('memory that grows with the inputs is noticed', async () => {
  const memory = new MemoryCheck();
  memory.measure();
  const kept: Buffer[] = [];
  await faulty(() => String(kept.push(Buffer.alloc(100_000)))).run(700);
  memory.measure();
  expect(memory.problem()).toMatch(/memory has grown by 6\d\.\d MiB/);
  // one that came late on a busy machine is judged again, and keeps more
  expect(kept.length).toBeGreaterThanOrEqual(700);
});

test('inputs that go a new way are bent further: a word is found letter by letter', async () => {
  const word = 'kvorum';
  const drive = new Drive(
    {
      ...{ name: 'word', share: 1, seeds: [Buffer.alloc(6)] },
      bend: (input, other, random) => bendBytes(input, other, random).subarray(0, 6),
      judge(input) {
        let at = 0;
        while (at < word.length && (input[at] ?? 0) % 8 === word.charCodeAt(at) % 8) at++;
        return String(at);
      },
    },
    1,
  );
  await drive.run(20_000);
  // at once it is one of 262,144
  expect([...drive.ways].sort().at(-1)).toBe('6');
});

test('bending leaves its inputs as they are and ends in bounds', () => {
  const random = seededRandom(5);
  const [input, other] = [Buffer.alloc(60_000, 1), Buffer.from('other')];
  for (let count = 0; count < 2_000; count++) {
    expect(bendBytes(input, other, random).length).toBeLessThanOrEqual(64 * 1024);
  }
  expect(input.equals(Buffer.alloc(60_000, 1))).toBe(true);
  expect(other.toString()).toBe('other');
});

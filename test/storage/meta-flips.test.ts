/**
 * One flipped bit in the embedded metadata store's journal and snapshot, as a killed process left
 * them: either opening says where, or everything is there.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { codeOf, messageOf } from '../../src/common/errors.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom, systemRandom } from '../../src/common/random.ts';
import {
  BATCH_HEADER_BYTES,
  decodeBatch,
  LOG_HEADER_BYTES,
} from '../../src/meta/embedded/format.ts';
import { LocalStore } from '../../src/meta/embedded/local-store.ts';
import { rangeRequestCodec } from '../../src/meta/embedded/messages.ts';
import { put } from '../meta/embedded/store-life.ts';
import { scale } from '../scale.ts';
import { flipBitIn, flipSeed as seed, tellWrong } from './flip.ts';
import { inRounds, limitOf } from './rounds.ts';

const root = mkdtempSync(join(tmpdir(), 'kvorum-meta-flips-'));
const image = join(root, 'image');
const live = join(root, 'live');
const truth = new Map<string, string>();
/** Written alone, last: its batch is the newest, and no mark follows it. */
const LAST_KEY = 'last';

interface Batch {
  readonly from: number;
  /** End of what the checksum covers. */
  readonly to: number;
}
let log: string;
let batches: Batch[];

function open(lines: string[]): Promise<LocalStore> {
  const note = (message: string, fields = {}) => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  const logger = { ...silentLogger, warn: note, error: note };
  return LocalStore.open({
    disk: fsDisk,
    dir: live,
    clock: systemClock,
    random: systemRandom(),
    logger,
    onFailure: (failure) => note(failure.message),
  });
}

beforeAll(async () => {
  const store = await open([]);
  const random = seededRandom(`meta ${seed}`);
  // enough for the journal to be replaced by a snapshot on the way
  for (let at = 0; at < 20; at++) await put(store, 'large', Buffer.alloc(600_000, `${at} `));
  truth.set('large', Buffer.alloc(600_000, '19 ').toString());
  for (let at = 0; at < 200; at++) {
    const [key, value] = [`key:${random.below(80)}`, `${at} `.repeat(1 + random.below(60))];
    await put(store, key, value);
    truth.set(key, value);
  }
  await put(store, LAST_KEY, 'old');
  await put(store, LAST_KEY, 'new');
  cpSync(live, image, { recursive: true });
  truth.set(LAST_KEY, 'new');
  await store.close();
  log = readdirSync(image).find((name) => name.startsWith('log-'))!;
  batches = batchesOf(readFileSync(join(image, log)), Number(log.slice('log-'.length)));
}, 300_000);

afterAll(() => rmSync(root, { recursive: true, force: true }));

function batchesOf(bytes: Buffer, file: number): Batch[] {
  const found: Batch[] = [];
  for (let at = LOG_HEADER_BYTES; ; ) {
    const next = decodeBatch(bytes, file, at);
    if (next === undefined || next === 'unreadable') return found;
    found.push({ from: at, to: at + BATCH_HEADER_BYTES + bytes.readUInt32BE(at + 4) });
    at = next.end;
  }
}

test('the journal was replaced by a snapshot, and opens without a word', async () => {
  expect(log).not.toBe('log-1');
  expect(batches.length).toBeGreaterThan(100);
  expect(await openCopy(undefined)).toEqual({ lines: [], different: [], opened: true });
});

test(
  'a flipped bit is reported with file and offset, or changes nothing',
  async () => {
    const random = seededRandom(`meta flips ${seed}`);
    const names = readdirSync(image).sort();
    const counts = { reported: 0, 'cut newest': 0, harmless: 0 };
    const failures: string[] = [];
    await inRounds({ what: 'flips of metadata', count: scale.bitFlips }, async (at) => {
      const name = names[at % names.length]!;
      const newest = name === log && at % 5 === 0;
      const size = readFileSync(join(image, name)).length;
      const from = newest ? batches.at(-1)!.from : 0;
      const place = { name, offset: from + random.below(size - from), bit: random.below(8) };
      const verdict = judge(place, await openCopy(place));
      if (verdict in counts) counts[verdict as keyof typeof counts]++;
      else {
        failures.push(`${JSON.stringify(place)}: ${verdict}`);
        tellWrong(failures.at(-1)!);
      }
    });
    process.stdout.write(`metadata store, seed ${seed}: ${JSON.stringify(counts)}\n`);
    expect(failures).toEqual([]);
  },
  limitOf(scale.bitFlips),
);

interface Place {
  readonly name: string;
  readonly offset: number;
  readonly bit: number;
}

interface Found {
  readonly lines: readonly string[];
  readonly different: readonly string[];
  readonly opened: boolean;
}

async function openCopy(place: Place | undefined): Promise<Found> {
  rmSync(live, { recursive: true, force: true });
  cpSync(image, live, { recursive: true });
  if (place !== undefined) flipBitIn(join(live, place.name), place.offset, place.bit);
  const lines: string[] = [];
  try {
    const store = await open(lines);
    const different = await compare(store);
    await store.close();
    return { lines, different, opened: true };
  } catch (failure) {
    if (codeOf(failure) !== 'CORRUPT') throw failure;
    return { lines: [...lines, messageOf(failure)], different: [], opened: false };
  }
}

/** What the store answers otherwise than it was told. */
async function compare(store: LocalStore): Promise<string[]> {
  const all = { key: Buffer.from([0]), rangeEnd: Buffer.from([0]) };
  const request = rangeRequestCodec.decode(rangeRequestCodec.encode({ ...defaults, ...all }));
  const { result } = await store.read((state) => state.range(request));
  const held = new Map(result.kvs.map(({ key, value }) => [key.toString(), value.toString()]));
  const keys = new Set([...held.keys(), ...truth.keys()]);
  return [...keys].filter((key) => held.get(key) !== truth.get(key));
}

const defaults = rangeRequestCodec.decode(Buffer.alloc(0));

function judge(place: Place, { lines, different, opened }: Found): string {
  const where = join(live, place.name);
  const named = lines.some((line) => line.includes(where) && /offset"?:? ?\d+/.test(line));
  if (!opened) return named ? 'reported' : `not named: ${lines}`;
  const newest = batches.at(-1)!;
  if (different.length > 0) {
    const last = different.length === 1 && different[0] === LAST_KEY;
    const torn = place.name === log && place.offset >= newest.from && place.offset < newest.to;
    return last && torn && named ? 'cut newest' : `different: ${different} ${lines}`;
  }
  const referred = place.name !== log || isReferred(place.offset);
  return referred ? `not reported: ${lines}` : 'harmless';
}

function isReferred(offset: number): boolean {
  if (offset < LOG_HEADER_BYTES) return true;
  return batches.some(({ from, to }) => offset >= from && offset < to);
}

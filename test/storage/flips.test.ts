/**
 * Decision 7d: one flipped bit in any file of a datanode. Each flip gets a fresh copy of a data
 * directory as a killed process left it; the copy is opened as a datanode opens it, everything is
 * read back through a socket, and the scrub runs over all tables.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { messageOf } from '../../src/common/errors.ts';
import { type Random, seededRandom } from '../../src/common/random.ts';
import { eventually } from '../cluster/cluster.ts';
import { scale } from '../scale.ts';
import { flipBitIn, flipSeed as seed, tellWrong } from './flip.ts';
import { type FlipKind, type FlipPlace, FlipPlaces, flipKinds } from './flip-places.ts';
import { LoneNode } from './lone-node.ts';
import { inRounds, limitOf } from './rounds.ts';
import { quiet, Truth, writeData } from './truth.ts';

const root = mkdtempSync(join(tmpdir(), 'kvorum-flips-'));
const image = join(root, 'image');
/** Copies lie where the image was made: a message names the same path. */
const live = join(root, 'live');
const truth = new Truth();
let maker: LoneNode;
let places: FlipPlaces;

beforeAll(async () => {
  maker = new LoneNode(live);
  maker.startDriver();
  await maker.start();
  await writeData(maker, truth, seededRandom(`data ${seed}`), () => {
    cpSync(live, image, { recursive: true });
  });
  await maker.stop();
  places = new FlipPlaces(image);
}, 300_000);

afterAll(() => rmSync(root, { recursive: true, force: true }));

type Verdict = 'reported' | 'cut, applied again' | 'cut newest' | 'harmless';

test('the image has files enough to damage, and opens without a word', async () => {
  expect(places.files('log')).toBeGreaterThan(3);
  // how many LevelDB makes of them depends on when it compacts
  expect(places.files('table')).toBeGreaterThan(1);
  const found = await open(undefined);
  expect(found).toEqual({ lines: [], wrong: [], missing: [], unread: 0 });
});

test(
  'a flipped bit never makes a wrong reply, and is reported where something refers to it',
  async () => {
    const random = seededRandom(`flips ${seed}`);
    const counts = new Map<FlipKind, Map<Verdict, number>>(
      flipKinds.map((kind) => [kind, new Map()]),
    );
    const failures: string[] = [];
    await inRounds({ what: 'flips', count: scale.bitFlips }, async (at) => {
      const place = places.draw(kindOf(at, random), random);
      const verdict = judge(place, await open(place));
      if (typeof verdict === 'object') {
        failures.push(verdict.failure);
        tellWrong(verdict.failure);
      } else {
        const row = counts.get(place.kind)!;
        row.set(verdict, (row.get(verdict) ?? 0) + 1);
      }
    });
    print(counts);
    expect(failures).toEqual([]);
  },
  limitOf(scale.bitFlips),
);

test('a value that goes bad under a running node is reported by the read, with file and offset', async () => {
  rmSync(live, { recursive: true, force: true });
  cpSync(image, live, { recursive: true });
  const node = new LoneNode(live, maker.meta.items);
  try {
    await node.start();
    await quiet(live);
    const tables = readdirSync(live, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ldb'))
      .map((name) => join(live, name));
    const [path, offset] = placeOf(tables);
    flipBitIn(path, offset, 2);
    const { wrong, missing, unread } = await truth.compare(node);
    expect({ wrong, missing }).toEqual({ wrong: [], missing: [] });
    expect(unread).toBeGreaterThan(0);
    const where = new RegExp(`where the damage is .*${path}:\\d+: checksum mismatch`);
    await eventually(60_000, 'it says where', () => node.lines.some((line) => where.test(line)));
  } finally {
    await node.stop();
  }
});

/** In the middle of a value that is read. */
function placeOf(tables: readonly string[]): [string, number] {
  for (const path of tables) {
    const bytes = readFileSync(path);
    for (const value of truth.values()) {
      const at = value.length > 500 ? bytes.indexOf(value) : -1;
      if (at >= 0) return [path, at + 250];
    }
  }
  throw new Error('no value is in a table');
}

/** Every kind in turn; every second flip goes where most of the data is. */
function kindOf(at: number, random: Random): FlipKind {
  if (at % 2 === 1) return flipKinds[random.below(3)]!;
  return flipKinds[(at / 2) % flipKinds.length]!;
}

interface Found {
  readonly lines: readonly string[];
  /** Replies that were never true. */
  readonly wrong: readonly string[];
  /** Replies from before the last write. */
  readonly missing: readonly string[];
  /** Reads that got an error. */
  readonly unread: number;
}

async function open(place: FlipPlace | undefined): Promise<Found> {
  rmSync(live, { recursive: true, force: true });
  cpSync(image, live, { recursive: true });
  if (place !== undefined) flipBitIn(join(live, place.file), place.offset, place.bit);
  const node = new LoneNode(live, maker.meta.items);
  let answers = { wrong: [] as string[], missing: [] as string[], unread: truth.size };
  try {
    await node.start();
    answers = await truth.compare(node);
    for (const name of await node.engines.list()) {
      await node.engines.verifyTables(name, () => Promise.resolve());
    }
  } catch (failure) {
    node.lines.push(messageOf(failure));
  } finally {
    await node.stop();
  }
  if (node.fatal !== undefined) node.lines.push(node.fatal.message);
  return { lines: node.lines, ...answers };
}

function judge(place: FlipPlace, found: Found): Verdict | { readonly failure: string } {
  const { lines, wrong, missing, unread } = found;
  const fail = (why: string) => ({
    failure: `${JSON.stringify(place)}: ${why} ${lines.join(' | ')}`,
  });
  if (wrong.length > 0) return fail(`wrong replies: ${wrong.slice(0, 3)}`);
  const cut = lines.some((line) => /cut/.test(line) && isNamed(place, line));
  const named = lines.some((line) => !/ cut/.test(line) && isNamed(place, line));
  if (named) return 'reported';
  if (cut) {
    if (place.kind === 'log, newest batch' && place.referred) return 'cut newest';
    if (missing.length === 0 && unread === 0)
      return place.referred ? 'cut, applied again' : 'harmless';
    return fail(`cut, and ${missing} are missing, ${unread} not read`);
  }
  if (missing.length > 0) return fail(`missing: ${missing}`);
  if (place.referred) return fail('not reported');
  if (unread > 0) return fail(`${unread} reads failed`);
  return 'harmless';
}

/** The line says in which file, and where in it. */
function isNamed(place: FlipPlace, line: string): boolean {
  const path = place.kind === 'CURRENT' ? place.file.replace('/CURRENT', '') : place.file;
  const at = line.indexOf(join(live, path));
  if (at < 0) return false;
  const rest = line.slice(at + live.length);
  return /:\d+:|offset \d+|"offset":\d+/.test(rest);
}

function print(counts: ReadonlyMap<FlipKind, ReadonlyMap<Verdict, number>>): void {
  const verdicts: Verdict[] = ['reported', 'cut, applied again', 'cut newest', 'harmless'];
  const row = (name: string, cells: readonly (string | number)[]) =>
    `${name.padEnd(20)}${cells.map((cell) => String(cell).padStart(20)).join('')}\n`;
  let text = row(`seed ${seed}`, verdicts);
  for (const [kind, of] of counts)
    text += row(
      kind,
      verdicts.map((one) => of.get(one) ?? 0),
    );
  process.stdout.write(text);
}

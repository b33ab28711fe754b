/**
 * Loss of power, replayed: a datanode runs under load and under strace, and all it does to its
 * files is one history, ours and LevelDB's. At a moment of it the power goes: what was synced is
 * there, of the rest what chance keeps. The datanode is started on what is left, and everything it
 * had acknowledged before that moment must be there.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { scale } from '../scale.ts';
import type { FileOp } from './file-history.ts';
import { LoneNode } from './lone-node.ts';
import { PowerImages } from './power-image.ts';
import {
  acknowledgedBefore,
  type RecordedRun,
  type RecordedWriter,
  recordRun,
  type Sent,
} from './recorded-run.ts';
import { inRounds, limitOf } from './rounds.ts';
import { noStrace } from './strace.ts';

const seed = process.env['KVORUM_POWER_SEED'] ?? '1';
const root = mkdtempSync(join(tmpdir(), 'kvorum-power-'));
const random = seededRandom(`power ${seed}`);
const noTracing = noStrace();
if (noTracing !== undefined) process.stdout.write(`SKIPPED: ${noTracing}\n`);

/** Of the recorded calls, after the first reply: some milliseconds. */
const FIRST_LINES = 60;

let first: RecordedRun;
let images: PowerImages;
/** When the first reply left. */
let serving: number;

beforeAll(async () => {
  if (noTracing !== undefined) return;
  const dir = join(root, 'first');
  const trace = join(root, 'trace1');
  first = await recordRun({ dir, trace, loadMs: 3_000, writesMin: 800, name: 'writer' });
  images = new PowerImages(first.history, dir);
  serving = first.history.sent.find(({ bytes }) => bytes.includes('+OK'))!.ended;
}, 400_000);

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A run, and when its power was lost. */
interface Loss {
  readonly run: RecordedRun;
  readonly moment: number;
}

describe.skipIf(noTracing !== undefined)('power that is lost', () => {
  test(
    'takes nothing that was acknowledged',
    async () => {
      const totals = new Totals('under load');
      await inRounds({ what: 'losses of power', count: scale.powerLosses }, async (at) => {
        // some before the first acknowledgement: a data directory that is only being made
        const from = at % 8 === 0 ? 1 : serving;
        // and some soon after it, when not all has been synced for another reason
        const lines = at % 8 === 4 ? FIRST_LINES : first.history.end - from;
        const loss = { run: first, moment: from + random.below(lines) };
        await totals.lose(images, [loss], at);
      });
      totals.print(first);
      expect(totals.failures).toEqual([]);
      expect(totals.acknowledged).toBeGreaterThan(1_000);
    },
    limitOf(scale.powerLosses),
  );

  test(
    'again, while the node recovers from the first loss or soon after, takes no more',
    async () => {
      const losses = Math.ceil(scale.powerLosses / 2);
      const totals = new Totals('a second time');
      const moment = serving + random.below(first.history.end - serving);
      const before = join(root, 'before');
      images.write(moment, random, before);
      const dir = join(root, 'second');
      cpSync(before, dir, { recursive: true });
      const trace = join(root, 'trace2');
      const load = { loadMs: 500, writesMin: 100 };
      const second = await recordRun({ dir, trace, ...load, after: first, name: 'again' });
      const later = new PowerImages(second.history, dir, before);
      const opens = second.history.files[0]!.began;
      const replies = second.history.sent.find(({ bytes }) => bytes.includes('+OK'))!.ended;
      await inRounds({ what: 'second losses', count: losses }, async (at) => {
        const end = at % 2 === 0 ? replies : second.history.end;
        const loss = { run: second, moment: opens + random.below(end - opens) };
        await totals.lose(later, [{ run: first, moment }, loss], at);
      });
      totals.print(second);
      expect(totals.failures).toEqual([]);
      expect(totals.acknowledged).toBeGreaterThan(500);
    },
    limitOf(scale.powerLosses),
  );
});

class Totals {
  acknowledged = 0;
  readonly failures: string[] = [];
  readonly #what: string;
  #losses = 0;
  #cut = 0;

  constructor(what: string) {
    this.#what = what;
  }

  /** The last of `losses` leaves what `of` says; all that any of its runs acknowledged is there. */
  async lose(of: PowerImages, losses: readonly Loss[], at: number): Promise<void> {
    const { moment } = losses.at(-1)!;
    const left = join(root, 'left');
    of.write(moment, random.fork(`${this.#what} ${at}`), left);
    const { wrong, acknowledged, cut } = await openAndCompare(left, losses);
    this.#losses++;
    this.acknowledged += acknowledged;
    if (cut) this.#cut++;
    const lines = wrong.map((line) => `${this.#what}, loss ${at} at line ${moment}: ${line}`);
    // told at once: a long run may be ended before its end
    for (const line of lines) process.stdout.write(`WRONG  ${line}\n`);
    this.failures.push(...lines);
    rmSync(left, { recursive: true });
  }

  print({ history, writers }: RecordedRun): void {
    const syncs = history.files.filter(isSync).length;
    const sent = writers.reduce((sum, writer) => sum + writer.sent.length, 0);
    process.stdout.write(
      `seed ${seed}, ${this.#what}: ${history.files.length} file operations, ${syncs} of them ` +
        `syncs, ${sent} writes; ${this.#losses} losses of power, ${this.#cut} left something to ` +
        `cut, ${this.acknowledged} acknowledged writes looked for\n`,
    );
  }
}

const isSync = (op: FileOp) => op.kind === 'sync' || (op.kind === 'write' && op.synced);

interface Found {
  readonly wrong: readonly string[];
  readonly acknowledged: number;
  /** Recovery said that it cut something unfinished. */
  readonly cut: boolean;
}

async function openAndCompare(dir: string, losses: readonly Loss[]): Promise<Found> {
  const node = new LoneNode(dir, first.items);
  const wrong: string[] = [];
  let acknowledged = 0;
  try {
    await node.start();
    for (const { run, moment } of losses) {
      for (const writer of run.writers) {
        const count = acknowledgedBefore(run, writer, moment);
        acknowledged += count;
        if (count > 0) wrong.push(...(await compare(node, writer, count)));
      }
    }
  } catch (failure) {
    wrong.push(String(failure));
  } finally {
    await node.stop();
  }
  if (node.fatal !== undefined) wrong.push(node.fatal.message);
  const broken = node.lines.filter((line) => /set aside|a replica stopped|failed/.test(line));
  const cut = node.lines.some((line) => / cut/.test(line));
  return { wrong: broken.length > 0 ? broken : wrong, acknowledged, cut };
}

/** What of the first `count` commands of `writer` is not there, or is not as it was written. */
async function compare(
  node: LoneNode,
  { sent }: RecordedWriter,
  count: number,
): Promise<readonly string[]> {
  const newest = new Map<string, number>();
  for (const [number, { key }] of sent.slice(0, count).entries()) newest.set(key, number);
  const client = node.connect();
  const batch = client.pipeline();
  for (const [key, number] of newest) {
    if (sent[number]!.isEntry) batch.xrange(key, '-', '+');
    else batch.get(key);
  }
  const replies = (await batch.exec()) ?? [];
  client.disconnect();
  return [...newest].flatMap(([key, number], at) => {
    const [failure, reply] = replies[at]!;
    const ofKey = sent.flatMap((one, place) => (one.key === key ? [{ ...one, place }] : []));
    const wrong = failure?.message ?? (isWhole(ofKey, reply) ? undefined : 'not as it was written');
    const last = Array.isArray(reply)
      ? ofKey[reply.length - 1]
      : ofKey.find(({ value }) => value === reply);
    if (wrong === undefined && last !== undefined && last.place >= number) return [];
    return [`${key}: ${wrong ?? last?.place}, acknowledged ${number}`];
  });
}

/** Of a stream: its entries are the first of those that were added, without a gap. */
function isWhole(ofKey: readonly Sent[], reply: unknown): boolean {
  if (!Array.isArray(reply)) return ofKey.some(({ value }) => value === reply);
  const entries = reply.map(([id, [, value]]: [string, string[]]) => `${id} ${value}`);
  const added = ofKey
    .slice(0, entries.length)
    .map(({ value }) => `${Number.parseInt(value, 10)}-0 ${value}`);
  return entries.join() === added.join();
}

/**
 * Loss of power, replayed: a datanode runs under load and under strace, and all it does to its
 * files is one history, ours and LevelDB's. At a moment of it the power goes: what was synced is
 * there, of the rest what chance keeps. The datanode is started on what is left, and everything it
 * had acknowledged before that moment must be there.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { scale } from '../scale.ts';
import { LoneNode } from './lone-node.ts';
import { PowerImages } from './power-image.ts';
import { acknowledgedBefore, type RecordedRun, recordRun } from './recorded-run.ts';
import { noStrace } from './strace.ts';

const seed = process.env['KVORUM_POWER_SEED'] ?? '1';
const root = mkdtempSync(join(tmpdir(), 'kvorum-power-'));
const noTracing = noStrace();
if (noTracing !== undefined) process.stdout.write(`SKIPPED: ${noTracing}\n`);

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe.skipIf(noTracing !== undefined)('power that is lost', () => {
  test(
    'takes nothing that was acknowledged',
    async () => {
      const dir = join(root, 'recorded');
      const run = await recordRun(dir, join(root, 'trace'), 3_000);
      const { history, writers } = run;
      const images = new PowerImages(history, dir);
      const random = seededRandom(`power ${seed}`);
      const first = history.sent.find(({ bytes }) => bytes.includes('+OK'))!.ended;
      const failures: string[] = [];
      const counts = { acknowledged: 0, cut: 0 };
      for (let at = 0; at < scale.powerLosses; at++) {
        // some before the first acknowledgement: a data directory that is only being made
        const from = at % 8 === 0 ? 1 : first;
        const moment = from + random.below(history.end - from);
        const left = join(root, 'left');
        images.write(moment, random.fork(`image ${at}`), left);
        const found = await openAndCompare(left, run, moment);
        counts.acknowledged += found.acknowledged;
        if (found.cut) counts.cut++;
        failures.push(...found.wrong.map((line) => `cut ${at} at line ${moment}: ${line}`));
        rmSync(left, { recursive: true });
      }
      const kinds = history.files.map(({ kind }) => kind);
      const syncs = kinds.filter((kind) => kind === 'sync').length;
      const sent = writers.reduce((sum, writer) => sum + writer.sent.length, 0);
      process.stdout.write(
        `seed ${seed}: ${kinds.length} file operations, ${syncs} of them syncs, ${sent} writes; ` +
          `${scale.powerLosses} losses of power: ${JSON.stringify(counts)}\n`,
      );
      expect(failures).toEqual([]);
      expect(sent).toBeGreaterThan(200);
      expect(counts.acknowledged).toBeGreaterThan(1_000);
    },
    60_000 + scale.powerLosses * 5_000,
  );
});

interface Found {
  readonly wrong: readonly string[];
  readonly acknowledged: number;
  /** Recovery said that it cut something unfinished. */
  readonly cut: boolean;
}

async function openAndCompare(dir: string, run: RecordedRun, moment: number): Promise<Found> {
  const node = new LoneNode(dir, run.items);
  const wrong: string[] = [];
  let acknowledged = 0;
  try {
    await node.start();
    const client = node.connect();
    for (const writer of run.writers) {
      const acked = acknowledgedBefore(run, writer, moment);
      acknowledged += acked;
      const keys = [...new Set(writer.sent.map(({ key }) => key))];
      const batch = client.pipeline();
      for (const key of keys) batch.get(key);
      const replies = acked === 0 ? [] : ((await batch.exec()) ?? []);
      for (const [at, [failure, value]] of replies.entries()) {
        const key = keys[at]!;
        const own = writer.sent.flatMap((one, number) => (one.key === key ? [number] : []));
        const newest = own.findLast((number) => number < acked);
        const number = own.find((one) => writer.sent[one]!.value === value);
        if (failure === null && value === null && newest === undefined) continue;
        if (failure === null && number !== undefined && number >= (newest ?? 0)) continue;
        wrong.push(`${key}: ${failure ?? number ?? value}, acknowledged ${newest}`);
      }
    }
    client.disconnect();
  } catch (failure) {
    wrong.push(String(failure));
  } finally {
    await node.stop();
  }
  if (node.fatal !== undefined) wrong.push(node.fatal.message);
  const broken = node.lines.filter((line) => /set aside|a replica stopped|failed/.test(line));
  return {
    wrong: [...wrong, ...broken],
    acknowledged,
    cut: node.lines.some((line) => / cut/.test(line)),
  };
}

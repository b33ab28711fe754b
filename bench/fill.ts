/** Fills a cluster with keys, each written once, by the program fill-load. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../tools/children.ts';
import type { FillLoad, FillResult } from './fill-words.ts';

const script = join(fileURLToPath(new URL('.', import.meta.url)), 'fill-load.js');
const CLIENTS = 16;
const PIPELINE = 16;
const TIMEOUT_MS = 120_000;
/** A cluster slower than this does not work. */
const LEAST_PER_SECOND = 500;

/** Bytes that can be under way at once, so that large values do not fill the queues. */
const UNDER_WAY_BYTES = 4 * 1024 * 1024;

/** Keys a second. */
export async function fill(
  told: Pick<FillLoad, 'port' | 'first' | 'count' | 'valueBytes'>,
): Promise<number> {
  const fitting = Math.floor(UNDER_WAY_BYTES / (told.valueBytes * CLIENTS * 3));
  const pipeline = Math.max(1, Math.min(PIPELINE, fitting));
  const load: FillLoad = { ...told, clients: CLIENTS, pipeline };
  const timeoutMs = TIMEOUT_MS + (told.count / LEAST_PER_SECOND) * 1_000;
  const args = [script, JSON.stringify(load)];
  const { stdout, stderr, code } = await run(process.execPath, args, { timeoutMs });
  if (code !== 0) throw new Error(`filling ended with ${code}: ${stderr.trim()}`);
  const { seconds } = JSON.parse(stdout) as FillResult;
  return told.count / seconds;
}

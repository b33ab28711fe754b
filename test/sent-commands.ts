/**
 * Rows of the command table that really ran in this test run. With KVORUM_SENT each process notes
 * them in a file of that folder; `test/run.mjs` compares all of them with the table in the end.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.env['KVORUM_SENT'];
const noted = new Set<string>();

/** `row`: as the table names it, `config|get`. To be told once the row has answered. */
export function noteSent(...rows: readonly string[]): void {
  if (folder === undefined) return;
  for (const row of rows) {
    if (noted.has(row)) continue;
    noted.add(row);
    appendFileSync(join(folder, String(process.pid)), `${row}\n`);
  }
}

/** The rows that INFO commandstats counts as called, those turned away left out. */
export function noteCommandStats(info: string): void {
  const called = [...info.matchAll(/^cmdstat_([^:]+):calls=([1-9]\d*)/gm)];
  noteSent(...called.map(([, row]) => row!));
}

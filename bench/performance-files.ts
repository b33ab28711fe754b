/** Writes docs/performance.md and docs/performance.svg; what was written by hand stays. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keptPart, performancePage, type Written } from './performance-page.ts';
import { drawPerformance } from './performance-plot.ts';
import type { Line } from './results.ts';

const root = join(fileURLToPath(new URL('.', import.meta.url)), '..', '..', '..');
const page = join(root, 'docs', 'performance.md');
const plot = join(root, 'docs', 'performance.svg');

/** Throws when a report could not be written after hours of measuring. */
export function requireReport(): void {
  keptPart(existing());
}

export function writeReport(written: Written, lines: readonly Line[]): void {
  const kept = keptPart(existing());
  writeFileSync(page, performancePage(written, kept));
  writeFileSync(plot, drawPerformance(lines, written.targets));
}

function existing(): string | undefined {
  return existsSync(page) ? readFileSync(page, 'utf8') : undefined;
}

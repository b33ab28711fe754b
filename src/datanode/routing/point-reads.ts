/**
 * Reads of values that their words name: of few keys, or of fields and members of one. They take as
 * long as their words are many, and the engine answers them at once.
 */
import type { CommandLine } from '../partition/entries/batch.ts';
import { wordOf } from './short-writes.ts';

/** Those of a single engine key are known without (`isSinglePoint`). */
export const pointReads: ReadonlySet<string> = new Set([
  ...['mget', 'exists', 'touch', 'hget', 'hmget', 'hexists', 'hstrlen'],
  ...['sismember', 'smismember', 'zscore', 'zmscore'],
]);

export function isPointRead(line: CommandLine): boolean {
  return pointReads.has(wordOf(line[0]!));
}

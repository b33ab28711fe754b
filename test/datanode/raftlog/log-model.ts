/** Entries and resets for tests of the raft log. */
import type { Entry } from '../../../src/datanode/raft/message.ts';

export function entry(index: number, term: number, data = `${term}/${index}`): Entry {
  return { term, index, kind: 'normal', data: Buffer.from(data) };
}

export function entryRange(from: number, to: number, term: number): Entry[] {
  const entries: Entry[] = [];
  for (let index = from; index <= to; index++) entries.push(entry(index, term));
  return entries;
}

export function reset(index: number, term: number, generation: number) {
  return { base: { index, term }, generation };
}

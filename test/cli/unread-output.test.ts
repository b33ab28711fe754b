import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { endWhenUnread, goOnUnheard } from '../../src/cli/unread-output.ts';

const full = Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC' });
const unread = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });

function codesOf(verb: string | undefined, failure: Error, told: string[] = []): number[] {
  const [output, codes] = [new EventEmitter(), [] as number[]];
  endWhenUnread(
    output,
    verb,
    (code) => codes.push(code),
    (line) => told.push(line),
  );
  output.emit('error', failure);
  return codes;
}

test.each(['nodes', 'demo', undefined])('%s ends well when nobody reads on', (verb) => {
  expect(codesOf(verb, unread)).toEqual([0]);
});

test.each(['start', 'datanode', 'placedriver'])('%s goes on, also on a full disk', (verb) => {
  expect(codesOf(verb, unread)).toEqual([]);
  expect(codesOf(verb, full)).toEqual([]);
});

test('a verb whose output has no room says so in a line, and fails', () => {
  const told: string[] = [];
  expect(codesOf('nodes', full, told)).toEqual([1]);
  expect(told).toEqual(['kvorum: standard output cannot be written: write ENOSPC']);
});

test('who hears no complaints goes on', () => {
  const complaints = new EventEmitter();
  goOnUnheard(complaints);
  expect(() => complaints.emit('error', full)).not.toThrow();
});

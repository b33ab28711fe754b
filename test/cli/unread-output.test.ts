import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { endWhenUnread } from '../../src/cli/unread-output.ts';

const unread = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });

function codesOf(verb: string | undefined, failure: Error): number[] {
  const [output, codes] = [new EventEmitter(), [] as number[]];
  endWhenUnread(output, verb, (code) => codes.push(code));
  output.emit('error', failure);
  return codes;
}

test.each(['nodes', 'demo', undefined])('%s ends well when nobody reads on', (verb) => {
  expect(codesOf(verb, unread)).toEqual([0]);
});

test.each(['start', 'datanode', 'placedriver'])('%s goes on', (verb) => {
  expect(codesOf(verb, unread)).toEqual([]);
});

test('another failure stays one', () => {
  const full = Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC' });
  expect(() => codesOf('nodes', full)).toThrow('ENOSPC');
});

import { expect, test } from 'vitest';
import type { ChangesAnswer } from '../../../src/datanode/partition/entries/changes.ts';
import {
  decodeChangesAnswer,
  decodeChangesQuestion,
  encodeChangesAnswer,
  encodeChangesQuestion,
  isChangesQuestion,
} from '../../../src/datanode/routing/changes-codec.ts';

const place = { namespace: 'default', partition: 3, group: 7 };

test('questions as they are frozen', () => {
  const asked = { ...place, proves: true, after: 5 };
  const body = encodeChangesQuestion(asked);
  expect(body.toString('hex')).toBe(
    '43010000000764656661756c740000000300000000000000070100000000' + '00000006',
  );
  expect(isChangesQuestion(body)).toBe(true);
  expect(decodeChangesQuestion(body)).toEqual(asked);
  const first = { ...place, proves: false, after: undefined };
  expect(decodeChangesQuestion(encodeChangesQuestion(first))).toEqual(first);
});

test('answers as they are frozen', () => {
  const told: ChangesAnswer = {
    kind: 'told',
    upTo: 9,
    anew: false,
    proven: true,
    changes: [
      { index: 8, alone: true, all: false, keys: [Buffer.from('k')] },
      { index: 9, alone: false, all: true, keys: [] },
    ],
  };
  const body = encodeChangesAnswer(told);
  expect(body.toString('hex')).toBe(
    '01010000000000000009020000000200000000000000080100000001000000016b' +
      '00000000000000090200000000',
  );
  expect(decodeChangesAnswer(body)).toEqual(told);
  const failed: ChangesAnswer = { kind: 'failed', code: 'NOT_LEADER', message: 'moved' };
  expect(decodeChangesAnswer(encodeChangesAnswer(failed))).toEqual(failed);
});

test('what is cut, or more than there can be, is a bad frame', () => {
  const body = encodeChangesAnswer({ kind: 'failed', code: 'BUSY', message: 'x' });
  expect(() => decodeChangesAnswer(body.subarray(0, -1))).toThrow(/BAD_FRAME|changes/);
  expect(() => decodeChangesAnswer(Buffer.concat([body, body]))).toThrow(/changes/);
});

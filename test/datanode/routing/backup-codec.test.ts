import { expect, test } from 'vitest';
import {
  type BackupQuestion,
  decodeBackupPage,
  decodeBackupQuestion,
  decodeOpenedState,
  encodeBackupPage,
  encodeBackupQuestion,
  encodeOpenedState,
  isBackupQuestion,
} from '../../../src/datanode/routing/backup-codec.ts';

const questions: readonly (readonly [BackupQuestion, string])[] = [
  [
    { kind: 'open', namespace: 'ab', partition: 3, group: 258, withLibraries: false },
    '42010100000002616200000003' + '0000000000000102',
  ],
  [
    { kind: 'open', namespace: 'ab', partition: 3, group: 258, withLibraries: true },
    '42010400000002616200000003' + '0000000000000102',
  ],
  [{ kind: 'page', id: 'n1/a', offset: 5 }, '420102000000046e312f610000000000000005'],
  [{ kind: 'close', id: 'n1/a' }, '420103000000046e312f61'],
];

test.each(questions)('%o has frozen bytes', (question, hex) => {
  const body = encodeBackupQuestion(question);
  expect(body.toString('hex')).toBe(hex);
  expect(isBackupQuestion(body)).toBe(true);
  expect(decodeBackupQuestion(body)).toEqual(question);
});

const state = {
  id: 'n/1',
  index: 1,
  term: 2,
  timeMs: 3,
  keys: 4,
  expires: 5,
  approximateBytes: 6,
  rdbVersion: 12,
};

test('answers come back as they were', () => {
  expect(decodeOpenedState(encodeOpenedState(state))).toEqual(state);
  const more = { ...state, libraries: 0 };
  expect(decodeOpenedState(encodeOpenedState(more))).toEqual(more);
  const page = { bytes: Buffer.from('page'), isLast: true, keys: 7, expires: 1, crc: 0xffff_fffe };
  expect(decodeBackupPage(encodeBackupPage(page))).toEqual(page);
  const empty = { ...page, bytes: Buffer.alloc(0), isLast: false };
  expect(decodeBackupPage(encodeBackupPage(empty))).toEqual(empty);
});

test('what is cut, of another kind or another version is refused', () => {
  const body = encodeBackupQuestion({ kind: 'page', id: 'n1/a', offset: 5 });
  const wrong = [body.subarray(0, -1), Buffer.concat([body, Buffer.alloc(1)])];
  for (const at of [1, 2]) {
    const other = Buffer.from(body);
    other[at] = 9;
    wrong.push(other);
  }
  for (const bytes of wrong) {
    expect(() => decodeBackupQuestion(bytes)).toThrow(/^question about a backup: /);
  }
  expect(() => decodeOpenedState(encodeOpenedState(state).subarray(0, -1))).toThrow(
    'state of a backup',
  );
  expect(() => decodeBackupPage(Buffer.from([1, 0]))).toThrow('page of a backup');
});

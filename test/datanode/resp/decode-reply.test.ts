import { expect, test } from 'vitest';
import { decodeReply, decodeRows } from '../../../src/datanode/resp/decode-reply.ts';

test.each([
  ['(12345678901234567890123\r\n', { kind: 'bigNumber', value: 12345678901234567890123n }],
  [',-1.5e3\r\n', { kind: 'double', value: -1500 }],
  [',-inf\r\n', { kind: 'double', value: Number.NEGATIVE_INFINITY }],
  [',nan\r\n', { kind: 'double', value: Number.NaN }],
  ['#f\r\n', { kind: 'boolean', value: false }],
])('%j is read', (bytes, reply) => {
  expect(decodeReply(Buffer.from(bytes))).toEqual(reply);
});

test.each([
  '(\r\n',
  '(!\r\n',
  '(1.5\r\n',
  ',\r\n',
  ',x\r\n',
  ',0x10\r\n',
  '#\r\n',
  '#x\r\n',
  ':1.5\r\n',
  '$3\r\nab\r\n',
  '*2\r\n:1\r\n',
  '+a\r\n+b\r\n',
])('%j is refused by name', (bytes) => {
  expect(() => decodeReply(Buffer.from(bytes))).toThrow(
    expect.objectContaining({ code: 'BAD_FRAME', message: expect.stringMatching(/^reply: /) }),
  );
});

test.each([
  ['%1\r\n$1\r\na\r\n*2\r\n$1\r\nx\r\n*1\r\n:7\r\n', ['*2\r\n$1\r\nx\r\n*1\r\n:7\r\n']],
  ['*2\r\n*2\r\n$1\r\na\r\n*0\r\n*2\r\n$1\r\nb\r\n_\r\n', ['*0\r\n', '_\r\n']],
])('values of the rows %j stay as they are', (bytes, values) => {
  const rows = decodeRows(Buffer.from(bytes));
  const pairs = rows.kind === 'rows' ? rows.pairs : [];
  expect(pairs.map(([, value]) => value)).toEqual(
    values.map((value) => ({ kind: 'encoded', bytes: Buffer.from(value) })),
  );
});

test.each(['*-1\r\n', '_\r\n', '-ERR no\r\n'])('%j has no rows and is read as ever', (bytes) => {
  expect(decodeRows(Buffer.from(bytes))).toEqual(decodeReply(Buffer.from(bytes)));
});

test.each([
  '%1\r\n$1\r\na\r\n*1\r\n',
  '%1\r\n$1\r\na\r\n*1\r\n$5\r\nx\r\n',
  '%1\r\n$1\r\na\r\n>0\r\n',
  '*1\r\n$1\r\na\r\n',
  '%1\r\n$1\r\na\r\n*0\r\n+a\r\n',
])('the rows %j are refused by name', (bytes) => {
  expect(() => decodeRows(Buffer.from(bytes))).toThrow(
    expect.objectContaining({ code: 'BAD_FRAME', message: expect.stringMatching(/^reply: /) }),
  );
});

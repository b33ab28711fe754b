import { expect, test } from 'vitest';
import { StreamParser } from '../../../../src/cli/import/live/stream-commands.ts';

function line(...words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}

function parsed(bytes: Buffer, step: number): unknown[] {
  const parser = new StreamParser();
  const all: unknown[] = [];
  for (let at = 0; at < bytes.length; at += step) {
    parser.push(Buffer.from(bytes.subarray(at, at + step)));
    for (let next = parser.next(); next !== undefined; next = parser.next()) {
      all.push([next.end, ...next.args.map(String)]);
    }
  }
  return all;
}

test('commands come out as they were sent, in any chunks, with the bytes that they took', () => {
  const [first, second] = [line('SET', 'k', 'a\r\n*1\r\n'), line('PING')];
  const bytes = Buffer.from(`${first}\n\n${second}${line('SET', 'big', 'x'.repeat(5_000))}`);
  for (const step of [1, 2, 7, 100, bytes.length]) {
    expect(parsed(bytes, step)).toEqual([
      [first.length, 'SET', 'k', 'a\r\n*1\r\n'],
      [first.length + 2 + second.length, 'PING'],
      [bytes.length, 'SET', 'big', 'x'.repeat(5_000)],
    ]);
  }
});

test.each(['PING\r\n', '*1\r\n+OK\r\n', '*x\r\n', '*1\r\n$99999999999\r\n', `*${'1'.repeat(40)}`])(
  'what is no command is an error with its place: %j',
  (text) => {
    const parser = new StreamParser();
    parser.push(Buffer.from(text));
    expect(() => parser.next()).toThrow(/^at byte \d+ of the stream/);
  },
);

/** Streams of requests: whole ones, bent ones, and ones that only look like requests. */
import fc from 'fast-check';
import { bending } from './bytes.ts';

/** Redis's own texts, and ours for a request larger than a log entry. */
export const protocolError = new RegExp(
  `^Protocol error: (?:${[
    'invalid multibulk length',
    'invalid bulk length',
    // a byte beyond ASCII is two in the reply's UTF-8
    String.raw`expected '\$', got '[\s\S]{1,2}'`,
    'unbalanced quotes in request',
    'this port does not speak TLS',
    'too big inline request',
    'too big mbulk count string',
    'too big bulk count string',
    'too big request',
  ].join('|')})$`,
);

export type Command = readonly Buffer[];

export function wireOf(command: Command): Buffer {
  const parts = command.flatMap((arg) => [
    Buffer.from(`$${arg.length}\r\n`),
    arg,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([Buffer.from(`*${command.length}\r\n`), ...parts]);
}

/** Arguments that look like the protocol itself are among them. */
const argument = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom('', '\r\n', '*1\r\n', '$4\r\nPING\r\n', '"', "'")
    .map((text) => Buffer.from(text)),
  fc.integer({ min: 0, max: 3_000 }).map((size) => Buffer.alloc(size, 'x')),
);

export const anyCommand: fc.Arbitrary<Command> = fc.array(argument, { minLength: 1, maxLength: 6 });
export const commands: fc.Arbitrary<Command[]> = fc.array(anyCommand, { maxLength: 6 });

/** A node command: its answer shows exactly what was understood. */
export const echo: fc.Arbitrary<Command> = argument.map((arg) => [Buffer.from('ECHO'), arg]);

const pieces = [
  ...['*', '$', ':', '+', '-', '%', '~', '>', '_', '#', ',', '(', '=', '!', '|'],
  ...['\r\n', '\n', '\r', ' ', '\t', '\0', '"', "'", '\\', '\\x', '\\x41', '"a b"', "'a'"],
  ...['0', '1', '2', '4', '10', '-1', '-0', '00', '+1', '1 ', ' 1', '1e3', '0x1', '01'],
  ...['1048577', '536870912', '536870913', '2147483648', '99999999999', '9223372036854775808'],
  ...['*1\r\n', '*2\r\n', '$4\r\nECHO\r\n', '$1\r\na\r\n', '*0\r\n', '*-1\r\n', 'ECHO a\r\n'],
];

/** Anything made of what the protocol is made of. */
const soup = fc
  .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 14 })
  .map((some) => Buffer.from(some.join(''), 'latin1'));

const long = fc
  .tuple(fc.constantFrom('*', '$', '', '*1\r\n$', 'ECHO "'), fc.constantFrom(31, 100, 70_000))
  .map(([start, count]) => Buffer.from(start + '1'.repeat(count)));

/** Streams that are mostly wrong somewhere. */
export function bentStream(command: fc.Arbitrary<Command>): fc.Arbitrary<Buffer> {
  const whole = fc
    .array(command, { minLength: 1, maxLength: 5 })
    .map((all) => Buffer.concat(all.map(wireOf)));
  return fc.oneof(
    fc.tuple(whole, bending).map(([bytes, bend]) => bend(bytes)),
    fc.tuple(whole, soup).map(([bytes, more]) => Buffer.concat([bytes, more])),
    fc.tuple(soup, whole).map(([some, bytes]) => Buffer.concat([some, bytes])),
    fc.tuple(whole, long).map(([bytes, more]) => Buffer.concat([bytes, more])),
    soup,
  );
}

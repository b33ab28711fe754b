import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasRoom } from '../../../src/common/bytes-with-room.ts';
import { limits } from '../../../src/common/limits.ts';
import { createRequestParser } from '../../../src/datanode/resp/request-parser.ts';
import { hasRedis, RealRedis } from '../commands/real-redis.ts';

function wire(command: readonly Uint8Array[]): Buffer {
  const parts = command.flatMap((arg) => [
    Buffer.from(`$${arg.length}\r\n`),
    arg,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([Buffer.from(`*${command.length}\r\n`), ...parts]);
}

function collect(bulkBytesMax?: number) {
  const requests: Buffer[][] = [];
  const errors: string[] = [];
  const sizes: number[] = [];
  const parser = createRequestParser({
    ...(bulkBytesMax !== undefined && { bulkBytesMax }),
    onRequest: (args, bytes) => {
      requests.push(args);
      sizes.push(bytes);
    },
    onProtocolError: (text) => errors.push(text),
  });
  return { parser, requests, errors, sizes };
}

const textOf = (requests: readonly Buffer[][]) =>
  requests.map((args) => args.map((arg) => arg.toString('latin1')));

const command = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 5 });

describe('requests', () => {
  test('of thousands of small arguments stay where they came, cut by chunks or not', () => {
    const words = Array.from({ length: 9_000 }, (_, at) => Buffer.from(`argument ${at}`));
    const bytes = Buffer.concat([wire(words), wire([Buffer.from('PING')])]);
    for (const chunkBytes of [1_000, 65_536, bytes.length]) {
      const { parser, requests, sizes } = collect();
      for (let from = 0; from < bytes.length; from += chunkBytes) {
        const chunk = Buffer.from(bytes.subarray(from, from + chunkBytes));
        parser.feed(chunk);
      }
      const [first, second] = textOf(requests).map((args) => args.join());
      expect([requests.length, second]).toEqual([2, 'PING']);
      expect(first === words.join()).toBe(true);
      expect(sizes).toEqual([bytes.length - 14, 14]);
    }
  });

  test('are the same however their bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(command, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat(300), { maxLength: 12 }),
        (commands, cuts) => {
          const bytes = Buffer.concat(commands.map(wire));
          const { parser, requests, errors } = collect();
          let from = 0;
          for (const cut of [...cuts, bytes.length]
            .map((at) => Math.min(at, bytes.length))
            .sort((a, b) => a - b)) {
            if (cut > from) parser.feed(bytes.subarray(from, cut));
            from = Math.max(from, cut);
          }
          expect(errors).toEqual([]);
          expect(requests.map((args) => args.map((arg) => [...arg]))).toEqual(
            commands.map((args) => args.map((arg) => [...arg])),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  test('byte by byte, with the bytes each took', () => {
    const { parser, requests, sizes } = collect();
    const bytes = Buffer.concat([
      wire([Buffer.from('SET'), Buffer.from('a'), Buffer.from('')]),
      Buffer.from('PING\r\n'),
    ]);
    for (const byte of bytes) parser.feed(Buffer.from([byte]));
    expect(textOf(requests)).toEqual([['SET', 'a', ''], ['PING']]);
    expect(sizes).toEqual([bytes.length - 6, 6]);
  });

  test('inline commands, empty lines and empty arrays', () => {
    const { parser, requests, errors } = collect();
    parser.feed(Buffer.from('\r\n*0\r\n*-1\r\n  set "a b" \'c\' \\x  \nGET x\r\n'));
    parser.feed(Buffer.from("\"\\x41\\n\" 'it\\'s'\r\n"));
    expect(errors).toEqual([]);
    expect(textOf(requests).slice(1)).toEqual([
      ['GET', 'x'],
      ['A\n', "it's"],
    ]);
  });

  test('lines end and words part where they do for a stock server', () => {
    const { parser, requests, errors } = collect();
    parser.feed(Buffer.from('*1\rX$4\rYPINGZZ'));
    parser.feed(Buffer.from('\v\fSET a\vb\fc \v"d"\ve\r\n'));
    parser.feed(Buffer.from('*2\r\n*'));
    expect(errors).toEqual([]);
    expect(textOf(requests)).toEqual([['PING'], ['SET', 'a\vb\fc', 'd', 'e']]);
    parser.feed(Buffer.from('\r\n'));
    expect(errors).toEqual(["Protocol error: expected '$', got '*'"]);
    const empty = collect();
    empty.parser.feed(Buffer.from('*1\r\n\r\n'));
    expect(empty.errors).toEqual(["Protocol error: expected '$', got '\r'"]);
  });

  test('paused, they wait; resumed, they go on', () => {
    const { parser, requests } = collect();
    const bytes = Buffer.concat([wire([Buffer.from('A')]), wire([Buffer.from('B')])]);
    parser.pause();
    parser.feed(bytes);
    expect(requests).toEqual([]);
    parser.resume();
    expect(textOf(requests)).toEqual([['A'], ['B']]);
  });

  test('with large bulks are the same however they are cut, each in memory of its own with room', () => {
    const large = (bytes: number, fill: string) => Buffer.alloc(bytes, fill);
    const small = Buffer.from('x');
    const commands = [
      [small, large(262_143, 'ab'), large(262_144, 'cd\r\n'), small],
      [large(700_001, '$1\r\n'), small],
      [small],
      [large(300_000, 'ef'), small, large(262_144, 'gh')],
    ];
    const bytes = Buffer.concat(commands.map(wire));
    for (const chunkBytes of [4_099, 65_536, 262_154, 400_000, bytes.length]) {
      const { parser, requests, errors, sizes } = collect();
      for (let from = 0; from < bytes.length; from += chunkBytes) {
        parser.feed(Buffer.from(bytes.subarray(from, from + chunkBytes)));
      }
      expect(errors).toEqual([]);
      expect(requests.map((args) => args.length)).toEqual([4, 2, 1, 3]);
      requests.flat().forEach((arg, at) => {
        expect(arg.equals(commands.flat()[at]!), `argument ${at} in ${chunkBytes}`).toBe(true);
        if (arg.length >= 262_144) expect(hasRoom(arg, 0)).toBe(true);
      });
      expect(sizes).toEqual(commands.map((command) => wire(command).length));
    }
  });

  test('of which a large bulk is kept back come when they go on', () => {
    const { parser, requests } = collect();
    const bulk = Buffer.alloc(300_000, 'x');
    const bytes = wire([Buffer.from('SET'), bulk]);
    parser.feed(bytes.subarray(0, 100_000));
    parser.pause();
    parser.feed(bytes.subarray(100_000));
    expect(requests).toEqual([]);
    parser.resume();
    expect(requests[0]![1]!.equals(bulk)).toBe(true);
  });

  test('keep no socket chunk alive, and announce nothing they have not brought', () => {
    const { parser, requests } = collect();
    const chunk = Buffer.alloc(65_536);
    const bytes = wire([Buffer.from('GET'), Buffer.from('small')]);
    bytes.copy(chunk);
    parser.feed(chunk.subarray(0, bytes.length));
    const [name, key] = requests[0]!;
    expect(name!.buffer).not.toBe(chunk.buffer);
    expect(key!.buffer.byteLength).toBeLessThanOrEqual(Buffer.poolSize);
    const before = process.memoryUsage().arrayBuffers;
    const huge = collect(512 * 1024 * 1024);
    huge.parser.feed(Buffer.from(`*2\r\n$3\r\nGET\r\n$${limits.requestBytesMax - 100}\r\nabc`));
    expect(huge.errors).toEqual([]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(5_000_000);
  });
});

const broken: readonly (readonly [string, string])[] = [
  ['*1\r\n:5\r\n', "Protocol error: expected '$', got ':'"],
  ['*1\r\n*1\r\n$1\r\na\r\n', "Protocol error: expected '$', got '*'"],
  ['*1\r\n%1\r\n', "Protocol error: expected '$', got '%'"],
  ['*x\r\n', 'Protocol error: invalid multibulk length'],
  ['*01\r\n', 'Protocol error: invalid multibulk length'],
  ['*-0\r\n', 'Protocol error: invalid multibulk length'],
  ['*\r\n', 'Protocol error: invalid multibulk length'],
  ['*1\n$4\r\n', 'Protocol error: invalid multibulk length'],
  ['*1\r\n$04\r\nPING\r\n', 'Protocol error: invalid bulk length'],
  ['*1048577\r\n', 'Protocol error: invalid multibulk length'],
  ['*1\r\n$x\r\n', 'Protocol error: invalid bulk length'],
  ['*1\r\n$-1\r\n', 'Protocol error: invalid bulk length'],
  ['*1\r\n$536870913\r\n', 'Protocol error: invalid bulk length'],
  ['get "a\r\n', 'Protocol error: unbalanced quotes in request'],
  ['get "a"b\r\n', 'Protocol error: unbalanced quotes in request'],
  [`get ${'x'.repeat(70_000)}`, 'Protocol error: too big inline request'],
  [`*${'1'.repeat(70_000)}`, 'Protocol error: too big mbulk count string'],
  [`*1\r\n$${'1'.repeat(70_000)}`, 'Protocol error: too big bulk count string'],
  [`*1\r\n${'x'.repeat(70_000)}`, 'Protocol error: too big bulk count string'],
  [`*${'1'.repeat(40)}\r\n`, 'Protocol error: invalid multibulk length'],
  [`*1\r\n$${'1'.repeat(40)}\r\n`, 'Protocol error: invalid bulk length'],
  [`*1\r\n${'x'.repeat(40)}\r\n`, "Protocol error: expected '$', got 'x'"],
];

describe('what is more than a stranger may send', () => {
  const { requestArgumentsUnknownMax, requestBulkBytesUnknownMax } = limits;
  const words = (count: number) => Array.from({ length: count }, () => Buffer.from('w'));
  const most = wire([
    ...words(requestArgumentsUnknownMax - 1),
    Buffer.alloc(requestBulkBytesUnknownMax),
  ]);
  const larger = [
    ['multibulk', wire(words(requestArgumentsUnknownMax + 1))],
    ['bulk', wire([Buffer.from('w'), Buffer.alloc(requestBulkBytesUnknownMax + 1)])],
  ] as const;

  /** Who may be large is asked for each time. */
  const stranger = (mayBeLarge: () => boolean | undefined) => {
    const errors: string[] = [];
    const counts: number[] = [];
    const parser = createRequestParser({
      mayBeLarge,
      onRequest: (args) => counts.push(args.length),
      onProtocolError: (text) => errors.push(text),
    });
    return { parser, counts, errors };
  };

  test.each(larger)('is an error as it is announced: %s', (what, bytes) => {
    const { parser, counts, errors } = stranger(() => false);
    parser.feed(most);
    parser.feed(bytes);
    expect(counts).toEqual([requestArgumentsUnknownMax]);
    expect(errors).toEqual([`Protocol error: unauthenticated ${what} length`]);
  });

  test.each(larger)('waits while nobody knows whose it is: %s', (what, bytes) => {
    for (const turnsOut of [true, false]) {
      for (const cut of [9, 1_000, bytes.length]) {
        let may: boolean | undefined;
        const { parser, counts, errors } = stranger(() => may);
        for (let at = 0; at < bytes.length; at += cut) parser.feed(bytes.subarray(at, at + cut));
        parser.feed(wire(words(2)));
        expect([counts, errors]).toEqual([[], []]);
        expect(parser.heldBytes).toBeGreaterThanOrEqual(bytes.length);
        may = turnsOut;
        parser.resume();
        const text = `Protocol error: unauthenticated ${what} length`;
        expect(errors).toEqual(turnsOut ? [] : [text]);
        const whole = what === 'bulk' ? 2 : requestArgumentsUnknownMax + 1;
        expect(counts).toEqual(turnsOut ? [whole, 2] : []);
      }
    }
  });
});

describe('protocol errors', () => {
  test.each(broken)('%j', (bytes, text) => {
    const { parser, requests, errors } = collect(512 * 1024 * 1024);
    parser.feed(Buffer.from('*1\r\n$4\r\nPING\r\n'));
    parser.feed(Buffer.from(bytes));
    parser.feed(Buffer.from('*1\r\n$4\r\nPING\r\n'));
    expect(errors).toEqual([text]);
    expect(textOf(requests)).toEqual([['PING']]);
  });

  test.skipIf(!hasRedis)('have the words of a stock server', async () => {
    const redis = await RealRedis.start();
    try {
      for (const [bytes, text] of broken) {
        const first = bytes.startsWith('*1048577') ? '*2147483648\r\n' : bytes;
        expect(await answerOf(redis.path, first), JSON.stringify(bytes)).toBe(`-ERR ${text}\r\n`);
      }
    } finally {
      await redis.stop();
    }
  });

  test('a header line may come for as long as an inline command may', () => {
    for (const [start, text] of [
      ['*', 'too big mbulk count string'],
      ['*1\r\n$', 'too big bulk count string'],
    ] as const) {
      const { parser, errors } = collect();
      parser.feed(Buffer.from(start));
      for (let at = 1; at < 65_536; at += 4_369) parser.feed(Buffer.alloc(4_369, '1'));
      parser.feed(Buffer.alloc(1, '1'));
      expect(errors).toEqual([`Protocol error: ${text}`]);
      const waiting = collect();
      waiting.parser.feed(Buffer.from(start));
      waiting.parser.feed(Buffer.alloc(65_535, '1'));
      expect(waiting.errors).toEqual([]);
      waiting.parser.feed(Buffer.from('\r\n'));
      expect(waiting.errors[0]).toMatch(/^Protocol error: invalid (multi)?bulk length$/);
    }
  });

  test('a request of more than its bound in all', () => {
    const { parser, errors } = collect(512 * 1024 * 1024);
    parser.feed(Buffer.from('*100\r\n'));
    const megabyte = Buffer.concat([
      Buffer.from('$1048576\r\n'),
      Buffer.alloc(1_048_576),
      Buffer.from('\r\n'),
    ]);
    for (let at = 0; at < 70 && errors.length === 0; at++) parser.feed(megabyte);
    expect(errors).toEqual(['Protocol error: too big request']);
  });

  test('a bulk that its request has no room for, as soon as it is announced', () => {
    const most = limits.requestBytesMax;
    const first = '*3\r\n$3\r\nSET\r\n';
    const header = `$${most - first.length - 13}\r\n`;
    for (const [bytes, wrong] of [
      [`${first}${header}`, false],
      [`${first}$${most - first.length - 12}\r\n`, true],
      [`${first}$1\r\nk\r\n${header}`, true],
      ['*1\r\n$536870912\r\n', true],
    ] as const) {
      const { parser, errors } = collect(512 * 1024 * 1024);
      parser.feed(Buffer.from(bytes));
      expect(errors, bytes).toEqual(wrong ? ['Protocol error: too big request'] : []);
    }
  });
});

function answerOf(path: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => socket.write(bytes));
    let answer = '';
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString();
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

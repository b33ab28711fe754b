/** Requests of any bytes, cut anywhere; replies as clients of our own read them. */
import { isDeepStrictEqual } from 'node:util';
import { decodeReply } from '../../../src/datanode/resp/decode-reply.ts';
import { createRequestParser } from '../../../src/datanode/resp/request-parser.ts';
import { decodeCursor, encodeCursor } from '../../../src/datanode/zan/cursor.ts';
import { chunksOf } from '../bytes.ts';
import { type Door, roomOfDoors } from '../engine/doors.ts';
import { hold, type Room } from '../engine/room.ts';
import { protocolError, wireOf } from '../resp-streams.ts';

export interface Parsed {
  readonly requests: readonly string[][];
  readonly errors: readonly string[];
}

export function parse(chunks: readonly Buffer[]): Parsed {
  const requests: string[][] = [];
  const errors: string[] = [];
  const parser = createRequestParser({
    bulkBytesMax: 512 * 1024 * 1024,
    onRequest: (args) => requests.push(args.map((arg) => arg.toString('latin1'))),
    onProtocolError: (text) => errors.push(text),
  });
  for (const chunk of chunks) parser.feed(chunk);
  return { requests, errors };
}

const lines = [
  ['PING'],
  ['ECHO', 'hi'],
  ['SET', 'key', 'value', 'EX', '10'],
  ['MSET', 'a', '1', 'b', '', 'c', '\r\n'],
  ['EVAL', '*1\r\n$4\r\nPING\r\n', '0'],
  ['GET', 'x'.repeat(300)],
  ['RPUSH', 'list', ...Array.from({ length: 20 }, (_, at) => String(at))],
];
const wires = lines.map((line) => wireOf(line.map((word) => Buffer.from(word))));
const texts = [
  'PING\r\n',
  'SET key "a b\\x41\\n" \r\n',
  "ECHO 'single' \n",
  '*0\r\n*-1\r\nPING\r\n',
  '*2\r\n$4\r\nECHO\r\n$-1\r\n',
  '*1\r\n*1\r\n$4\r\nPING\r\n',
  '*1\r\n%1\r\n+a\r\n:1\r\n',
  `${'x'.repeat(70_000)}\r\n`,
];
const replies = [
  '+OK\r\n',
  '-ERR wrong\r\n',
  ':42\r\n',
  '$5\r\nhello\r\n',
  '$-1\r\n',
  '*3\r\n:1\r\n*0\r\n*1\r\n$1\r\na\r\n',
  '*-1\r\n',
  '%2\r\n+a\r\n:1\r\n+b\r\n~1\r\n#t\r\n',
  ',1.5\r\n,inf\r\n,nan\r\n',
  '(12345678901234567890\r\n',
  '=7\r\ntxt:abc\r\n',
  '>2\r\n+message\r\n_\r\n',
];

const requests: Door = {
  name: 'requests',
  codes: [],
  seeds: [Buffer.concat(wires), ...wires, ...texts.map((text) => Buffer.from(text))],
  open(bytes) {
    const whole = parse([bytes]);
    hold(whole.errors.length <= 1, () => `${whole.errors.length} errors`);
    for (const error of whole.errors) hold(protocolError.test(error), () => `error ${error}`);
    const places = [0.1, 0.35, 0.5, 0.51, 0.9].map((place) => (place + bytes.length / 7) % 1);
    hold(isDeepStrictEqual(parse(chunksOf(bytes, places)), whole), () => 'cuts change it');
    if (bytes.length <= 150) {
      const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
      hold(isDeepStrictEqual(parse(single), whole), () => 'byte by byte it is another stream');
    }
    const shape = whole.requests.slice(0, 2).map((args) => Math.min(args.length, 4));
    const [error = 'no error'] = whole.errors;
    return `${shape} ${whole.requests.length > 2} ${error.replace(/got '[\s\S]*/, 'got')}`;
  },
};

const answers: Door = {
  name: 'replies',
  codes: ['BAD_FRAME'],
  says: /^reply: /,
  seeds: replies.map((text) => Buffer.from(text)),
  open: (bytes) => decodeReply(bytes).kind,
};

const places = [
  { partition: 3, place: Buffer.from('key') },
  { partition: 0, place: Buffer.alloc(0) },
];

/** Of the namespace whose cursors they are. */
const PARTITIONS = 64;

const cursors: Door = {
  name: 'cursors',
  codes: [],
  seeds: [encodeCursor(places), encodeCursor(places.slice(1)), Buffer.from('MDo7')],
  open(bytes) {
    const found = decodeCursor(bytes, PARTITIONS);
    if (found === undefined) return 'none';
    const again = decodeCursor(encodeCursor(found), PARTITIONS);
    hold(isDeepStrictEqual(again, found), () => 'written again it says something else');
    return `of ${Math.min(found.length, 4)}`;
  },
};

export async function openResp(): Promise<Room> {
  return roomOfDoors('resp', 28, [requests, answers, cursors]);
}

/** Records of the metadata store, who watches them, and the embedded store's own files and messages. */
import fc from 'fast-check';
import { crc32 } from '../../../src/common/checksum.ts';
import { KvorumError } from '../../../src/common/errors.ts';
import type { Random } from '../../../src/common/random.ts';
import { ClusterView } from '../../../src/datanode/coordinator/cluster-view.ts';
import {
  decodeBatch,
  decodeSnapshot,
  encodeBatch,
  encodeSnapshot,
} from '../../../src/meta/embedded/format.ts';
import {
  compactRequestCodec,
  deleteRequestCodec,
  keyValueCodec,
  putRequestCodec,
  rangeRequestCodec,
  txnRequestCodec,
  watchRequestCodec,
} from '../../../src/meta/embedded/messages.ts';
import { WireError } from '../../../src/meta/embedded/wire.ts';
import { decodeRecord, type RecordKind, recordKinds } from '../../../src/meta/records.ts';
import type { MetaEvent } from '../../../src/meta/store.ts';
import { Picture } from '../../../src/placedriver/picture.ts';
import { bendBehindDoor } from '../engine/bend-bytes.ts';
import { bendJson, bendText } from '../engine/bend-json.ts';
import { hold, type Room, wayOf } from '../engine/room.ts';
import type { Json } from '../json-mutations.ts';
import { storedRecord } from '../metadata-records.ts';

const RECORD = 0;
const SNAPSHOT = 1;
const BATCH = 2;
/** Requests of the store's clients follow. */
const FIRST_CODEC = 3;

/** Each so many records are told to those who watch them: that costs ten times reading one. */
const WATCHED_OF = 8;

const codecs = [
  ...[keyValueCodec, putRequestCodec, rangeRequestCodec, deleteRequestCodec],
  ...[txnRequestCodec, compactRequestCodec, watchRequestCodec],
] as const;

const kindNames = Object.keys(recordKinds) as (keyof typeof recordKinds)[];

interface Stored {
  readonly kind: number;
  readonly key: string;
  readonly value: string;
}

function recordInput({ kind, key, value }: Stored): Buffer {
  return Buffer.from(`${String.fromCharCode(RECORD)}${kind}\n${key}\n${value}`);
}

function storedIn(input: Buffer): Stored {
  const text = input.toString('utf8', 1);
  const [kind = '', key = ''] = text.split('\n', 2);
  const value = text.slice(kind.length + key.length + 2);
  return { kind: Number(kind) % kindNames.length || 0, key, value };
}

function bendRecord(input: Buffer, other: Buffer, random: Random): Buffer {
  const stored = storedIn(input);
  const lent = other[0] === RECORD ? storedIn(other).value : '{}';
  let { value } = stored;
  for (let left = 1 + random.below(2); left > 0; left--) value = bentValue(value, lent, random);
  const key = random.below(20) === 0 ? bendText(stored.key, lent, random) : stored.key;
  const kind = random.below(40) === 0 ? random.below(kindNames.length) : stored.kind;
  return recordInput({ kind, key: key.replaceAll('\n', ''), value: value.slice(0, 40_000) });
}

function bentValue(value: string, lent: string, random: Random): string {
  if (random.below(3) === 0) return bendText(value, lent, random);
  try {
    return JSON.stringify(bendJson(JSON.parse(value) as Json, JSON.parse(lent) as Json, random));
  } catch {
    return bendText(value, lent, random); // it is no JSON any more
  }
}

/** Read by who needs it, or refused with its key; those who watch keep on either way. */
function judgeRecord({ kind: number, key, value }: Stored): string {
  const name = kindNames[number]!;
  const kind = recordKinds[name] as RecordKind<unknown>;
  const way = outcomeOf(name, kind, key, value);
  if (value.length % WATCHED_OF !== 0) return way;
  const problems: string[] = [];
  const item = { key, value, createRevision: 1, modRevision: 2 };
  const put: MetaEvent = { type: 'put', item };
  const gone: MetaEvent = { type: 'delete', key, modRevision: 3 };
  for (const Watcher of [ClusterView, Picture]) {
    const watcher = new Watcher((problem) => problems.push(problem));
    watcher.apply([put]);
    watcher.list([item]);
    watcher.apply([gone]);
  }
  for (const problem of problems) hold(problem.length > 10, () => `problem: ${problem}`);
  return `${way} ${problems.length}`;
}

function outcomeOf(name: string, kind: RecordKind<unknown>, key: string, value: string): string {
  try {
    const record = decodeRecord(kind, key, value);
    hold(kind.keyOf(record) === key, () => 'the record of another key');
    return `${name} taken`;
  } catch (failure) {
    if (!(failure instanceof KvorumError) || failure.code !== 'BAD_RECORD') throw failure;
    const { message } = failure;
    hold(message.startsWith(`metadata ${key}: `), () => `the refusal names no key: ${message}`);
    hold(/; .+$/s.test(message), () => `the refusal says not what to do: ${message}`);
    hold(message.length < key.length + 1_000, () => `a refusal of ${message.length} characters`);
    return `${name} ${wayOf(message.slice(`metadata ${key}: `.length))}`;
  }
}

function judgeSnapshot(bytes: Buffer): string {
  const image = decodeSnapshot(bytes);
  if (typeof image === 'string') return `snapshot ${wayOf(image)}`;
  return `snapshot of ${Math.min(image.items.length, 4)}, ${Math.min(image.leases.length, 4)}`;
}

function judgeBatch(bytes: Buffer): string {
  const found = decodeBatch(bytes, 1, 0);
  if (found === undefined) return 'no batch';
  if (found === 'unreadable') return found;
  return `batch of ${Math.min(found.batch.records.length, 4)}`;
}

function judgeMessage(at: number, bytes: Buffer): string {
  try {
    const fields = Object.entries(codecs[at % codecs.length]!.decode(bytes));
    return `message ${at} ${fields.map(([name, value]) => (isSet(value) ? name : '')).join()}`;
  } catch (failure) {
    if (!(failure instanceof WireError)) throw failure;
    return `message ${at} ${wayOf(failure.message)}`;
  }
}

function isSet(value: unknown): boolean {
  return Buffer.isBuffer(value) ? value.length > 0 : Boolean(value);
}

/** With checksums of what it holds now. */
function sealed(input: Buffer): Buffer {
  const bytes = Buffer.from(input);
  if (bytes[0] === SNAPSHOT && bytes.length >= 17) {
    const body = bytes.subarray(17);
    bytes.writeUInt32BE(body.length, 1 + 8);
    bytes.writeUInt32BE(crc32(body), 1 + 12);
  }
  if (bytes[0] === BATCH && bytes.length >= 13) {
    const end = Math.min(13 + bytes.readUInt32BE(5), bytes.length);
    const place = Buffer.alloc(16);
    place.writeBigUInt64BE(1n, 0);
    bytes.writeUInt32BE(crc32(bytes.subarray(13, end), crc32(place)), 9);
  }
  return bytes;
}

const bytes = (text: string) => Buffer.from(text);
const item = {
  ...{ key: bytes('/kvorum/a'), value: bytes('{"version":1}'), lease: 7 },
  ...{ createRevision: 3, modRevision: 2 ** 40, version: 1 },
};
const image = {
  ...{ clusterId: 5, revision: 900, compactRevision: 3, nextLease: 8 },
  ...{ leases: [{ id: 7, ttlSeconds: 10 }], items: [item, { ...item, key: bytes('/kvorum/b') }] },
};
const put = { key: item.key, value: item.value, lease: 7 };
const compare = { result: 0, target: 3, key: item.key, value: item.value } as never;
const requests: readonly (readonly [number, Buffer])[] = [
  [0, keyValueCodec.encode(item)],
  [1, putRequestCodec.encode(put)],
  [2, rangeRequestCodec.encode({ key: item.key, rangeEnd: bytes('/kvorum0'), limit: 100 })],
  [3, deleteRequestCodec.encode({ key: item.key })],
  [4, txnRequestCodec.encode({ compare: [compare], success: [{ put } as never], failure: [] })],
  [5, compactRequestCodec.encode({ revision: 2 ** 50 })],
  [6, watchRequestCodec.encode({ create: { key: item.key, startRevision: 4 } } as never)],
];

function seeds(): Buffer[] {
  const records = fc.sample(storedRecord, { seed: 1, numRuns: 150 });
  const commands = requests.map(([, payload], at) => ({ command: at, payload }));
  return [
    ...records.map(({ kind, key, record }) => {
      const at = kindNames.findIndex((name) => recordKinds[name] === kind);
      return recordInput({ kind: at, key, value: JSON.stringify(record) });
    }),
    Buffer.concat([Buffer.of(SNAPSHOT), encodeSnapshot(image)]),
    Buffer.concat([Buffer.of(BATCH), encodeBatch(1, 0, { number: 1, durable: 0, records: [] })]),
    Buffer.concat([
      Buffer.of(BATCH),
      encodeBatch(1, 0, { number: 9, durable: 8, records: commands }),
    ]),
    ...requests.map(([at, payload]) => Buffer.concat([Buffer.of(FIRST_CODEC + at), payload])),
  ];
}

export async function openMetadata(): Promise<Room> {
  return {
    name: 'metadata',
    share: 22,
    seeds: seeds(),
    bend(input, other, random) {
      if (input[0] === RECORD) return bendRecord(input, other, random);
      const bent = bendBehindDoor(input, other, random);
      return random.below(4) === 0 ? bent : sealed(bent);
    },
    judge(input) {
      const body = Buffer.from(input.subarray(1));
      if (input[0] === RECORD) return judgeRecord(storedIn(input));
      if (input[0] === SNAPSHOT) return judgeSnapshot(body);
      if (input[0] === BATCH) return judgeBatch(body);
      return judgeMessage((input[0] ?? FIRST_CODEC) - FIRST_CODEC, body);
    },
  };
}

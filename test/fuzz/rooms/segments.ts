/** Files of the raft log: their records, and whole logs that are opened from them. */
import { crc32 } from '../../../src/common/checksum.ts';
import {
  decodeEnvelope,
  type Envelope,
  encodeEnvelope,
} from '../../../src/datanode/partition/entries/envelope.ts';
import { decodeConfChange } from '../../../src/datanode/raft/conf-change-codec.ts';
import {
  BATCH_HEADER_BYTES,
  decodeBatchHeader,
  decodeEntry,
  decodeRecords,
  SECTOR_BYTES,
} from '../../../src/datanode/raftlog/format.ts';
import { type Door, roomOfDoors } from '../engine/doors.ts';
import { hold, type Room } from '../engine/room.ts';
import { expectPrefix, type LogImage, makeImage, open } from '../log-images.ts';

const IMAGES = 6;
const SEALED = 1;

/** Every batch that can be found has the checksums of what it holds now. */
function sealBatches(bytes: Buffer): Buffer {
  const sealed = Buffer.from(bytes);
  for (let at = 0; at + BATCH_HEADER_BYTES <= sealed.length; at += SECTOR_BYTES) {
    if (sealed.readUInt32BE(at) !== 0x4b56_4c42) continue;
    const start = at + BATCH_HEADER_BYTES;
    const end = Math.min(start + sealed.readUInt32BE(at + 36), sealed.length);
    sealed.writeUInt32BE(crc32(sealed.subarray(start, end)), at + 40);
    sealed.writeUInt32BE(crc32(sealed.subarray(at, at + 44)), at + 44);
  }
  return sealed;
}

/** The records of a file, as recovery reads them. */
function records(seeds: readonly Buffer[]): Door {
  return {
    name: 'records',
    codes: ['CORRUPT', 'TOO_NEW'],
    seeds,
    sealed: sealBatches,
    open(bytes) {
      const kinds = new Set<string>();
      for (let at = 0; at < bytes.length; at += SECTOR_BYTES) {
        const header = decodeBatchHeader(bytes, at);
        if (header === 'damaged' || 'unknownVersion' in header) continue;
        const start = at + BATCH_HEADER_BYTES;
        const end = start + header.payloadBytes;
        if (end > bytes.length) continue;
        const stopped = decodeRecords(bytes, start, end, (record, place) => {
          kinds.add(record.kind);
          if (record.kind === 'entry') decodeEntry(bytes, place, header.segment);
        });
        hold(stopped <= end, () => `read on to ${stopped}, behind ${end}`);
        if (stopped < end) kinds.add('broken');
      }
      return [...kinds].sort().join(' ');
    },
  };
}

/** All files of a log, one of them bent: what is opened was there once. */
function images(all: readonly LogImage[]): Door {
  return {
    name: 'log',
    codes: [],
    seeds: all.flatMap(({ files }, image) =>
      [...files.values()].map((bytes, file) => Buffer.concat([Buffer.of(image, file, 0), bytes])),
    ),
    sealed(body) {
      if (body.length < 3) return body;
      const head = Buffer.of(body[0]!, body[1]!, SEALED);
      return Buffer.concat([head, sealBatches(body.subarray(3))]);
    },
    async open(body) {
      const [number = 0, file = 0, sealed = 0] = body;
      const image = all[number % all.length]!;
      const names = [...image.files.keys()];
      const files = new Map(image.files).set(names[file % names.length]!, body.subarray(3));
      const { digest, refusal } = await open(files, sealed === SEALED);
      if (digest === undefined) return refusal.replaceAll(/\d+|node\/log\S+/g, '').slice(0, 80);
      if (sealed !== SEALED) expectPrefix(image, files, digest);
      return `opened ${sealed === SEALED}`;
    },
  };
}

const line = ['SET', 'k', 'v'].map((word) => Buffer.from(word));
const once = { first: 0, count: 1, id: Buffer.from('session'), sequence: 3, low: 1 };
const waiting = {
  ready: [Buffer.from('k')],
  waiters: [{ id: Buffer.from('id'), line, protocol: 2, asked: true }],
  confirmed: [Buffer.from('old')],
} as const;
const bodies: readonly Envelope['body'][] = [
  { family: 'redis', lines: [line, line] },
  { family: 'redis', lines: [line], waiting },
  { family: 'redis', lines: [line], once: [once] },
  { family: 'redis', lines: [line], waiting, once: [once] },
  { family: 'internal', operation: 'time' },
  { family: 'internal', operation: 'expire', keys: [{ deadlineMs: 9, key: Buffer.from('k') }] },
];

/** What an entry holds. */
const entries: Door = {
  name: 'entry',
  codes: ['CORRUPT', 'TOO_NEW'],
  says: /^log entry /,
  seeds: bodies.map((body) => encodeEnvelope({ timeMs: 1_700_000_000_000, seed: 7, body })),
  open(data) {
    const { body } = decodeEnvelope(data);
    if (body.family === 'internal') return body.operation;
    const parts = [body.waiting !== undefined, body.once?.length ?? 0].join(' ');
    return `${Math.min(body.lines.length, 4)} ${parts}`;
  },
};

const members: Door = {
  name: 'members',
  codes: ['CORRUPT', 'TOO_NEW'],
  seeds: [Buffer.from('01000001000000000000000003ffff', 'hex')],
  open: (data) => decodeConfChange(data).transition,
};

export async function openSegments(): Promise<Room> {
  const all: LogImage[] = [];
  for (let seed = 1; seed <= IMAGES; seed++) all.push(await makeImage(seed));
  const files = all.flatMap((image) => [...image.files.values()]);
  // opening a whole log costs a thousand times what reading its records does
  const doors = [records(files), images(all.slice(0, 2)), entries, members];
  return roomOfDoors('segments', 3, doors);
}

/**
 * Where in a data directory a bit may flip, by kind of file, and whether anything refers to that
 * place: the judge of a flip that nothing reported. It reads the files before the flip.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../src/common/random.ts';
import {
  alignToSector,
  BATCH_HEADER_BYTES,
  decodeBatchHeader,
} from '../../src/datanode/raftlog/format.ts';

export const flipKinds = [
  'log',
  'table',
  'engine log',
  'MANIFEST',
  'log, newest batch',
  'CURRENT',
  'log, room ahead',
  'identity',
  'notes',
  'saved table',
  'texts of LevelDB',
] as const;
export type FlipKind = (typeof flipKinds)[number];

export interface FlipPlace {
  readonly kind: FlipKind;
  /** Relative to the data directory. */
  readonly file: string;
  readonly offset: number;
  readonly bit: number;
  /** Something refers to the byte: what it says matters. */
  readonly referred: boolean;
}

/** Bytes [from, to) of a file, of one kind. */
interface Stretch {
  readonly kind: FlipKind;
  readonly file: string;
  readonly from: number;
  readonly to: number;
  readonly referred: Referred;
}

type Referred = (offset: number) => boolean;

const always = () => true;
const never = () => false;
const LEVEL_BLOCK_BYTES = 32_768;
const LEVEL_HEADER_BYTES = 7;
const TABLE_FOOTER_BYTES = 48;
const TABLE_MAGIC_BYTES = 8;

/** A directory's bytes by kind; a place is drawn as if a kind's files were one. */
export class FlipPlaces {
  readonly #stretches: readonly Stretch[];

  constructor(dir: string) {
    this.#stretches = [...plainFiles(dir), ...segments(dir), ...engines(dir)];
    for (const kind of flipKinds) {
      if (this.#bytesOf(kind) === 0) throw new Error(`the image has no bytes of kind ${kind}`);
    }
  }

  /** How many files of `kind` there are. */
  files(kind: FlipKind): number {
    return new Set(this.#of(kind).map(({ file }) => file)).size;
  }

  draw(kind: FlipKind, random: Random): FlipPlace {
    let left = random.below(this.#bytesOf(kind));
    for (const { file, from, to, referred } of this.#of(kind)) {
      if (left >= to - from) {
        left -= to - from;
        continue;
      }
      const offset = from + left;
      return { kind, file, offset, bit: random.below(8), referred: referred(offset) };
    }
    throw new Error('unreachable');
  }

  #of(kind: FlipKind): readonly Stretch[] {
    return this.#stretches.filter((stretch) => stretch.kind === kind);
  }

  #bytesOf(kind: FlipKind): number {
    return this.#of(kind).reduce((sum, { from, to }) => sum + to - from, 0);
  }
}

function whole(dir: string, kind: FlipKind, file: string, referred: Referred = always): Stretch {
  return { kind, file, from: 0, to: readFileSync(join(dir, file)).length, referred };
}

function plainFiles(dir: string): Stretch[] {
  return [
    whole(dir, 'identity', 'identity'),
    whole(dir, 'notes', 'replicas'),
    whole(dir, 'saved table', 'table'),
  ];
}

/** The raft log: a batch's header and payload matter, the rest of its last sector does not. */
function segments(dir: string): Stretch[] {
  const stretches: Stretch[] = [];
  const names = readdirSync(join(dir, 'log')).sort();
  const payloads: { readonly file: string; readonly from: number; readonly to: number }[] = [];
  for (const name of names) {
    const file = `log/${name}`;
    const bytes = readFileSync(join(dir, file));
    let at = 0;
    for (;;) {
      const header = decodeBatchHeader(bytes, at);
      if (header === 'damaged' || 'unknownVersion' in header || header.offset !== at) break;
      const end = at + BATCH_HEADER_BYTES + header.payloadBytes;
      payloads.push({ file, from: at, to: end });
      at = alignToSector(end);
    }
    const room = { kind: 'log, room ahead', file, from: at, to: bytes.length } as const;
    stretches.push({ ...room, referred: never });
  }
  const newest = payloads.at(-1)!;
  for (const batch of payloads) {
    const kind = batch === newest ? 'log, newest batch' : 'log';
    const to = alignToSector(batch.to);
    stretches.push({
      kind,
      file: batch.file,
      from: batch.from,
      to,
      referred: (at) => at < batch.to,
    });
  }
  return stretches;
}

function engines(dir: string): Stretch[] {
  const names = readdirSync(join(dir, 'engines'));
  return names.flatMap((engine) => {
    const files = readdirSync(join(dir, 'engines', engine)).map(
      (one) => `engines/${engine}/${one}`,
    );
    return files.map((file) => levelFile(dir, file));
  });
}

function levelFile(dir: string, file: string): Stretch {
  if (file.endsWith('.ldb')) return whole(dir, 'table', file, tablePart(dir, file));
  if (file.endsWith('.log')) return whole(dir, 'engine log', file, outsidePadding);
  if (file.includes('/MANIFEST')) return whole(dir, 'MANIFEST', file, outsidePadding);
  if (file.endsWith('/CURRENT')) return whole(dir, 'CURRENT', file);
  return whole(dir, 'texts of LevelDB', file, never);
}

/** Fewer bytes than a header needs, at the end of a block, belong to no record. */
function outsidePadding(offset: number): boolean {
  return offset % LEVEL_BLOCK_BYTES <= LEVEL_BLOCK_BYTES - LEVEL_HEADER_BYTES;
}

/** Between the two places a footer holds and its magic number there are zeros. */
function tablePart(dir: string, file: string): Referred {
  const bytes = readFileSync(join(dir, file));
  const footer = bytes.length - TABLE_FOOTER_BYTES;
  let end = footer;
  for (let numbers = 0; numbers < 4; end++) if (bytes[end]! < 128) numbers++;
  return (offset) => offset < end || offset >= bytes.length - TABLE_MAGIC_BYTES;
}

/**
 * Records of several partitions, brought together to be read as if they lay in one. Frozen format,
 * version 1:
 *
 *   version u8 · pairs, each: key length u32 · key · value length u32 · value
 *
 * Keys are those of the engine. Elements of one collection come in a row and in their order, so
 * they are found by halving: nothing is copied out before it is asked for.
 */
import { ByteRangeError, ByteWriter } from '../../../common/bytes.ts';
import { decodeFrame } from '../../../common/decode.ts';
import type { KeyRange, KeyValue } from '../../engine/engine.ts';
import { ELEMENT_PREFIX_BYTES } from '../records/element-key.ts';
import { tags } from '../records/tags.ts';
import { handedMax } from './read-ahead.ts';
import type { View } from './view.ts';

const VERSION = 1;
const LENGTH_BYTES = 4;
/** Pairs looked at between two pauses while their places are noted. */
const INDEX_STEP = 4_096;

/** Packs records up to a bound. */
export class GatherWriter {
  readonly #bytesMax: number;
  readonly #writer = new ByteWriter(1_024).u8(VERSION);

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** More was added than the bound allows. */
  get overfull(): boolean {
    return this.#writer.length > this.#bytesMax;
  }

  add(key: Buffer, value: Buffer): void {
    if (!this.overfull) this.#writer.bytes(key).bytes(value);
  }

  finish(): Buffer {
    return this.#writer.finish();
  }
}

/** Pairs in the order of their keys, all with the same prefix. */
interface Section {
  readonly body: Buffer;
  /** Where each pair begins. */
  readonly starts: number[];
}

export class Gathered implements View {
  readonly #records = new Map<string, Buffer>();
  readonly #sections = new Map<string, Section>();

  /** `pause` gives way between steps. Throws KvorumError BAD_FRAME. */
  static async open(bodies: readonly Buffer[], pause: () => Promise<void>): Promise<Gathered> {
    const gathered = new Gathered();
    for (const body of bodies) {
      for (let at = 0; at < body.length; ) {
        at = decodeFrame('gathered records', () => gathered.#index(body, at));
        if (at < body.length) await pause();
      }
    }
    return gathered;
  }

  get(key: Buffer): Buffer | undefined {
    if (key[0] === tags.key) return this.#records.get(key.toString('latin1'));
    const section = this.#sections.get(prefixOf(key));
    if (section === undefined) return undefined;
    const at = lowerBound(section, key);
    if (at === section.starts.length || compareAt(section, at, key) !== 0) return undefined;
    return pairAt(section, at)[1];
  }

  /** The first slice of `range`, which lies within one collection's elements of one kind. */
  range(range: KeyRange): KeyValue[] {
    const { gte, lt, reverse } = range;
    const section = this.#sections.get(prefixOf(gte));
    if (section === undefined) return [];
    const from = lowerBound(section, gte);
    const to = lowerBound(section, lt);
    const count = Math.min(to - from, handedMax(range));
    const pairs: KeyValue[] = [];
    for (let at = 0; at < count; at++) {
      pairs.push(pairAt(section, reverse ? to - 1 - at : from + at));
    }
    return pairs;
  }

  /** Notes some pairs of `body` from `start` on; returns where those end. */
  #index(body: Buffer, start: number): number {
    let at = start;
    if (at === 0 && body[at++] !== VERSION) throw new ByteRangeError('unknown version');
    let section: Section | undefined;
    for (let left = INDEX_STEP; left > 0 && at < body.length; left--) {
      const key = bytesAt(body, at);
      const value = bytesAt(body, at + LENGTH_BYTES + key.length);
      if (key[0] === tags.key) {
        this.#records.set(key.toString('latin1'), value);
      } else {
        if (section === undefined || !hasPrefix(section, key)) section = this.#section(body, key);
        section.starts.push(at);
      }
      at += 2 * LENGTH_BYTES + key.length + value.length;
    }
    return at;
  }

  #section(body: Buffer, key: Buffer): Section {
    const name = prefixOf(key);
    let section = this.#sections.get(name);
    if (section === undefined) {
      section = { body, starts: [] };
      this.#sections.set(name, section);
    }
    return section;
  }
}

function prefixOf(key: Buffer): string {
  return key.toString('latin1', 0, ELEMENT_PREFIX_BYTES);
}

function hasPrefix({ body, starts }: Section, key: Buffer): boolean {
  const at = starts[0]! + LENGTH_BYTES;
  const end = ELEMENT_PREFIX_BYTES;
  return key.length >= end && key.compare(body, at, at + end, 0, end) === 0;
}

/** The bytes whose length stands at `at`. */
function bytesAt(body: Buffer, at: number): Buffer {
  const from = at + LENGTH_BYTES;
  const end = from > body.length ? from : from + body.readUInt32BE(at);
  if (end > body.length) throw new ByteRangeError(`cut at ${at} of ${body.length}`);
  return body.subarray(from, end);
}

function pairAt({ body, starts }: Section, at: number): KeyValue {
  const key = bytesAt(body, starts[at]!);
  return [key, bytesAt(body, starts[at]! + LENGTH_BYTES + key.length)];
}

/** How the key of the pair compares with `key`. */
function compareAt({ body, starts }: Section, at: number, key: Buffer): number {
  const from = starts[at]! + LENGTH_BYTES;
  return body.compare(key, 0, key.length, from, from + body.readUInt32BE(starts[at]!));
}

/** Index of the first pair whose key is not less than `key`. */
function lowerBound(section: Section, key: Buffer): number {
  let low = 0;
  let high = section.starts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareAt(section, middle, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

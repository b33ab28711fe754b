/**
 * What keys of a LevelDB were before they were written, for states that are held meanwhile. Each is
 * remembered once, however many states there are: in the layer that was the newest then. A state looks
 * into the layer that was begun with it first, and on into newer ones; where none has the key it is as it
 * was. A layer nobody began with joins the one before it. Of too much the oldest states are lost.
 */
import { assert, must } from '../../common/assert.ts';

/** Who looks into a layer and those behind it. */
export interface PastReader {
  /** What it needs is remembered no more. */
  lose(): void;
}

export class PastLayer {
  was = new Map<string, Buffer | undefined>();
  next: PastLayer | undefined;
  bytes = 0;
  readonly readers = new Set<PastReader>();

  /** Unless it has one: what was before that does not count. Returns what it takes more. */
  note(name: string, was: Buffer | undefined): number {
    if (this.was.has(name)) return 0;
    const bytes = bytesOf(name, was);
    this.was.set(name, was);
    this.bytes += bytes;
    return bytes;
  }
}

/** Nothing is remembered of a key: it is as it was. */
export const UNCHANGED = Symbol('unchanged');

/** What a key takes beside its name and its value. */
const NOTE_BYTES = 150;
/** Two layers become one in a turn if one of them has no more keys than these. */
const JOINED_MAX = 4_096;

export class PastValues {
  readonly #bytesMax: number;
  /** The oldest first. */
  readonly #layers: PastLayer[] = [];
  /** Of all layers: summed up as they change, since it is looked at for each key that is noted. */
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** A layer for those who are to look at what is noted from now on. */
  begin(readers: readonly PastReader[]): PastLayer {
    assert(readers.length > 0, 'a layer is for somebody');
    const layer = new PastLayer();
    const last = this.#layers.at(-1);
    if (last !== undefined) last.next = layer;
    this.#layers.push(layer);
    for (const reader of readers) layer.readers.add(reader);
    return layer;
  }

  /** There is somebody. */
  get isAsked(): boolean {
    return this.#layers.length > 0;
  }

  /** Somebody may want to know what the key of that name was. */
  asks(name: string): boolean {
    return this.#layers.at(-1)?.was.has(name) === false;
  }

  note(name: string, was: Buffer | undefined): void {
    const newest = this.#layers.at(-1);
    if (newest === undefined) return;
    this.#bytes += newest.note(name, was);
    while (this.#bytes > this.#bytesMax) {
      // with the last of them the layer goes
      for (const reader of [...must(this.#layers[0], 'it takes memory').readers]) reader.lose();
    }
  }

  /** `reader`, which began with `layer`, wants to know nothing more. */
  leave(layer: PastLayer, reader: PastReader): void {
    layer.readers.delete(reader);
    if (layer.readers.size > 0) return;
    const at = this.#layers.indexOf(layer);
    if (at > 0) this.#join(this.#layers[at - 1]!, layer, at);
    while (this.#layers[0]?.readers.size === 0) this.#bytes -= this.#layers.shift()!.bytes;
  }

  /** What is remembered takes. */
  get bytes(): number {
    return this.#bytes;
  }

  #join(before: PastLayer, layer: PastLayer, at: number): void {
    if (Math.min(before.was.size, layer.was.size) > JOINED_MAX) return;
    const apartBytes = before.bytes + layer.bytes;
    if (layer.was.size <= before.was.size) {
      for (const [name, was] of layer.was) before.note(name, was);
    } else {
      for (const [name, was] of before.was) {
        if (layer.was.has(name)) layer.bytes -= bytesOf(name, layer.was.get(name));
        layer.was.set(name, was);
        layer.bytes += bytesOf(name, was);
      }
      before.was = layer.was;
      before.bytes = layer.bytes;
    }
    this.#bytes += before.bytes - apartBytes;
    before.next = layer.next;
    this.#layers.splice(at, 1);
  }
}

/** What the key of that name was for who began with `layer`. */
export function pastValue(
  layer: PastLayer | undefined,
  name: string,
): Buffer | undefined | typeof UNCHANGED {
  for (let at = layer; at !== undefined; at = at.next) {
    const was = at.was.get(name);
    if (was !== undefined || at.was.has(name)) return was;
  }
  return UNCHANGED;
}

function bytesOf(name: string, was: Buffer | undefined): number {
  return NOTE_BYTES + name.length + (was?.length ?? 0);
}

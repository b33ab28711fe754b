/** What the engine drives: a door of the product that bytes from outside come through. */
import type { Random } from '../../../src/common/random.ts';

export interface Room {
  readonly name: string;
  /** Its part of all inputs, in percent: less where one input costs more. */
  readonly share: number;
  /** Valid inputs, which others are bent from. */
  readonly seeds: readonly Buffer[];
  /** Another input, made of `input`; `other` is a second one to take pieces from. */
  bend(input: Buffer, other: Buffer, random: Random): Buffer;
  /**
   * Hands it to the product. Returns a word for the way it went (accepted, or which refusal): an
   * input of a new way is kept and bent further. Throws when the product did what it must not.
   */
  judge(input: Buffer): string | Promise<string>;
  close?(): Promise<void>;
}

/** Only opened rooms cost anything. */
export type OpenRoom = () => Promise<Room>;

/** A refusal's text without what differs from input to input. */
export function wayOf(text: string): string {
  return text
    .replaceAll(/"[^"]*"|'[^']*'/g, '""')
    .replaceAll(/\d+/g, '0')
    .slice(0, 60);
}

/** Throws, with what was expected. */
export function hold(holds: boolean, what: () => string): void {
  if (!holds) throw new Error(what());
}

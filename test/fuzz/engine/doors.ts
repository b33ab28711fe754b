/** A room of many decoders: the first byte of an input says which of them the rest is for. */
import { codeOf, type ErrorCode, messageOf } from '../../../src/common/errors.ts';
import type { Random } from '../../../src/common/random.ts';
import { bendBehindDoor } from './bend-bytes.ts';
import { hold, type Room, wayOf } from './room.ts';

export interface Door {
  readonly name: string;
  /** Valid inputs. */
  readonly seeds: readonly Buffer[];
  /** Throws KvorumError of these codes for what it refuses, and nothing else. */
  readonly codes: readonly ErrorCode[];
  /** What each refusal must say; nothing: any text. */
  readonly says?: RegExp;
  /** May return a word for the way the input went. */
  open(body: Buffer): unknown;
  /** Makes checksums right again; by default the bytes stay as they were bent. */
  sealed?(body: Buffer): Buffer;
}

/** A refusal is a line for a person, not a dump of the input. */
const MESSAGE_MAX = 600;

/** The way an input goes: what the door makes of it, or its refusal; throws for anything else. */
export function wayThrough(door: Door, body: Buffer): string | Promise<string> {
  try {
    const told = door.open(body);
    if (!(told instanceof Promise)) return accepted(door, told);
    return told.then(
      (what) => accepted(door, what),
      (failure: unknown) => refused(door, failure),
    );
  } catch (failure) {
    return refused(door, failure);
  }
}

function accepted({ name }: Door, what: unknown): string {
  return typeof what === 'string' ? `${name} ${what}` : `${name} taken`;
}

function refused({ name, codes, says }: Door, failure: unknown): string {
  const code = codeOf(failure);
  if (code === undefined || !codes.includes(code)) throw failure;
  const text = messageOf(failure);
  hold(text.length < MESSAGE_MAX, () => `a refusal of ${text.length} characters: ${text}`);
  hold(says?.test(text) ?? text.length > 0, () => `the refusal does not say what: ${text}`);
  return `${name} ${wayOf(text)}`;
}

export function roomOfDoors(name: string, share: number, doors: readonly Door[]): Room {
  const seeds = doors.flatMap((door, at) =>
    door.seeds.map((seed) => Buffer.concat([Buffer.of(at), seed])),
  );
  return {
    name,
    share,
    seeds,
    bend(input, other, random) {
      const bent = bendBehindDoor(input, other, random);
      return sealed(doors, bent, random);
    },
    judge(input) {
      const door = doors[input[0]! % doors.length]!;
      return wayThrough(door, Buffer.from(input.subarray(1)));
    },
  };
}

/** Three of four with their checksums right: what lies behind them is reached. */
function sealed(doors: readonly Door[], input: Buffer, random: Random): Buffer {
  const door = doors[input[0]! % doors.length]!;
  if (door.sealed === undefined || random.below(4) === 0) return input;
  return Buffer.concat([input.subarray(0, 1), door.sealed(input.subarray(1))]);
}

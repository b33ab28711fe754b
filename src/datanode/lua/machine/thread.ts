/** A coroutine, or the script itself: registers, calls, and where it is. */
import type { LuaThread } from '../values/thread.ts';
import type { LuaValue } from '../values/value.ts';
import type { Upvalue } from './closure.ts';
import { Frame } from './frame.ts';
import type { Machine } from './machine.ts';

export type ThreadStatus = 'suspended' | 'running' | 'normal' | 'dead';

const NO_CODE = new Int32Array(0);

export class Thread implements LuaThread {
  readonly kind = 'thread';
  readonly machine: Machine;
  readonly stack: LuaValue[] = [];
  readonly frames: Frame[] = [];
  depth = 0;
  /** Of the function that runs, from its frame. */
  frame: Frame = new Frame();
  code: Int32Array = NO_CODE;
  constants: readonly LuaValue[] = [];
  base = 0;
  pc = 0;
  /** Behind the last of results whose number only the next instruction asks for. */
  top = 0;
  /** Up to which register a concatenation that a metamethod had a part in is done; −1: there is none. */
  concatenated = -1;
  /** Variables that functions share and whose block still runs, by register. */
  readonly open: Upvalue[] = [];
  status: ThreadStatus = 'suspended';
  resumer: Thread | undefined;
  /** Calls that are under way and were made by the machine or a library, not by an instruction. */
  boundaries = 0;
  /** Those of the coroutines that wait for this one. */
  boundariesBelow = 0;

  constructor(machine: Machine) {
    this.machine = machine;
  }

  get isAtScript(): boolean {
    return this.depth > 0 && this.frame.run === undefined;
  }
}

const SLOT_BYTES = 8;
/** A thread keeps those that it has had. */
const FRAME_BYTES = 160;
const ROOM = 16;

/** Registers up to `size`, and room for the arguments of metamethods. */
export function ensureStack(t: Thread, size: number): void {
  const { stack } = t;
  const missing = size + ROOM - stack.length;
  if (missing <= 0) return;
  t.machine.bytes(missing * SLOT_BYTES);
  for (let n = 0; n < missing; n++) stack.push(undefined);
}

/** Frames are used again: a call is cheaper so. */
export function pushFrame(t: Thread): Frame {
  if (t.depth > 0) t.frame.pc = t.pc;
  let frame = t.frames[t.depth];
  if (frame === undefined) {
    t.machine.bytes(FRAME_BYTES);
    frame = new Frame();
    t.frames.push(frame);
  }
  t.depth += 1;
  t.frame = frame;
  return frame;
}

/** Back to the frame below. */
export function popFrame(t: Thread): void {
  t.depth -= 1;
  const frame = t.frames[t.depth - 1];
  if (frame === undefined) return;
  t.frame = frame;
  t.base = frame.base;
  const { closure } = frame;
  if (closure === undefined) return;
  t.pc = frame.pc;
  t.code = closure.proto.code;
  t.constants = closure.proto.constants;
}

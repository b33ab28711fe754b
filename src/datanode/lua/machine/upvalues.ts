/** Variables that closures share with the block that they were made in. */
import { aOf, bxOf } from '../syntax/opcodes.ts';
import { LuaClosure, Upvalue } from './closure.ts';
import type { Thread } from './thread.ts';

const CLOSURE_BYTES = 128;
const UPVALUE_BYTES = 64;

/** All that are in registers from `from` on are on their own now. */
export function closeUpvalues(t: Thread, from: number): void {
  const { open } = t;
  while (open.length > 0 && open[open.length - 1]!.index >= from) open.pop()!.close();
}

export function makeClosure(t: Thread, i: number): void {
  const own = t.frame.closure!;
  const proto = own.proto.protos[bxOf(i)]!;
  t.machine.bytes(CLOSURE_BYTES + UPVALUE_BYTES * proto.upvalues.length);
  const upvalues = proto.upvalues.map((source) =>
    source.isLocal ? find(t, t.base + source.index) : own.upvalues[source.index]!,
  );
  t.stack[t.base + aOf(i)] = new LuaClosure(proto, upvalues);
}

/** All closures that see a variable have the same one. */
function find(t: Thread, register: number): Upvalue {
  const { open } = t;
  let at = open.length;
  while (at > 0 && open[at - 1]!.index >= register) {
    at -= 1;
    if (open[at]!.index === register) return open[at]!;
  }
  const made = new Upvalue(t.stack, register);
  open.splice(at, 0, made);
  return made;
}

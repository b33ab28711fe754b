/** Which variable a register holds, found by looking back over the instructions, for error messages. */
import { aOf, bOf, bxOf, CONSTANT, cOf, OP, offsetOf, opOf } from '../syntax/opcodes.ts';
import type { Proto } from '../syntax/proto.ts';
import type { Thread } from './thread.ts';

export interface RegisterName {
  readonly kind: 'local' | 'global' | 'field' | 'method' | 'upvalue';
  readonly name: string;
}

/** Of the function that runs; undefined: the register has no name. */
export function nameOfRegister(t: Thread, register: number): RegisterName | undefined {
  const { closure } = t.frame;
  t.machine.steps(t.pc);
  return closure === undefined ? undefined : nameAt(closure.proto, t.pc - 1, register);
}

/** How the library's function is called that has the top frame, or none yet; undefined: not by the script. */
export function nameOfCalled(t: Thread, hasFrame: boolean): RegisterName | undefined {
  const at = t.depth - (hasFrame ? 2 : 1);
  const caller = t.frames[at];
  if (at < 0 || caller?.closure === undefined) return undefined;
  const { proto } = caller.closure;
  const pc = (caller === t.frame ? t.pc : caller.pc) - 1;
  const i = proto.code[pc]!;
  t.machine.steps(pc);
  const isCall = opOf(i) === OP.call || opOf(i) === OP.tailCall;
  return isCall ? nameAt(proto, pc, aOf(i)) : undefined;
}

function nameAt(proto: Proto, pc: number, register: number): RegisterName | undefined {
  const local = localAt(proto, pc, register);
  if (local !== undefined) return { kind: 'local', name: local };
  const i = proto.code[lastChange(proto, pc, register)];
  if (i === undefined) return undefined;
  switch (opOf(i)) {
    case OP.getGlobal:
      return { kind: 'global', name: String(proto.constants[bxOf(i)]) };
    case OP.move:
      return bOf(i) < aOf(i) ? nameAt(proto, pc, bOf(i)) : undefined;
    case OP.getTable:
      return { kind: 'field', name: keyName(proto, cOf(i)) };
    case OP.getUpvalue:
      return { kind: 'upvalue', name: proto.upvalues[bOf(i)]?.name ?? '?' };
    case OP.self:
      return { kind: 'method', name: keyName(proto, cOf(i)) };
    default:
      return undefined;
  }
}

function keyName(proto: Proto, operand: number): string {
  const constant = operand >= CONSTANT ? proto.constants[operand - CONSTANT] : undefined;
  return typeof constant === 'string' ? constant : '?';
}

function localAt(proto: Proto, pc: number, register: number): string | undefined {
  let left = register;
  for (const local of proto.locals) {
    if (local.start > pc) return undefined;
    if (pc >= local.end) continue;
    if (left === 0) return local.name;
    left -= 1;
  }
  return undefined;
}

/** The last instruction before `end` that may have changed the register, over jumps ahead. */
function lastChange(proto: Proto, end: number, register: number): number {
  let last = -1;
  for (let pc = 0; pc < end; pc++) {
    const i = proto.code[pc]!;
    if (changes(i, register)) last = pc;
    if (opOf(i) === OP.setList && cOf(i) === 0) pc += 1;
    if (!isJump(opOf(i))) continue;
    const target = pc + 1 + offsetOf(i);
    if (pc < target && target <= end) pc = target - 1;
  }
  return last;
}

function isJump(op: number): boolean {
  return op === OP.jump || op === OP.forLoop || op === OP.forPrepare;
}

function changes(i: number, register: number): boolean {
  const a = aOf(i);
  switch (opOf(i)) {
    case OP.loadNil:
      return a <= register && register <= bOf(i);
    case OP.self:
      return register === a || register === a + 1;
    case OP.call:
    case OP.tailCall:
    case OP.varArgs:
      return register >= a;
    case OP.forCall:
      return register >= a + 3;
    case OP.forTest:
      return register === a + 2;
    default:
      return SETTING_A.has(opOf(i)) && register === a;
  }
}

const SETTING_A: ReadonlySet<number> = new Set([
  OP.move,
  OP.loadConstant,
  OP.loadBoolean,
  OP.getUpvalue,
  OP.getGlobal,
  OP.getTable,
  OP.newTable,
  OP.add,
  OP.subtract,
  OP.multiply,
  OP.divide,
  OP.modulo,
  OP.power,
  OP.negate,
  OP.not,
  OP.length,
  OP.concatenate,
  // Lua's own table of instructions says so of a test, which changes nothing.
  OP.test,
  OP.testSet,
  OP.forLoop,
  OP.forPrepare,
  OP.closure,
]);

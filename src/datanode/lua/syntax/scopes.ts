/** Which variable a name is: local, of a function around, or global. */
import { type Compiler, stringConstant } from './compiler.ts';
import { emit, NO_JUMP, patchToHere } from './emit.ts';
import { type Expression, expression } from './expression.ts';
import type { Block, FunctionState } from './function-state.ts';
import { OP } from './opcodes.ts';

const LOCALS_MAX = 200;
const UPVALUES_MAX = 60;

/** Declares a local variable; it is not seen before it is activated. */
export function declareLocal(c: Compiler, name: string): void {
  const { fs } = c;
  fs.checkLimit(fs.declared.length + 1, LOCALS_MAX, 'local variables');
  fs.locals.push({ name, start: 0, end: 0 });
  fs.declared.push(fs.locals.length - 1);
}

/** The next of the declared variables are seen from here on. */
export function activateLocals(fs: FunctionState, count: number): void {
  for (let i = 0; i < count; i++) {
    const local = fs.locals[fs.declared[fs.activeCount]!]!;
    local.start = fs.pc;
    const registers = fs.activeByName.get(local.name);
    if (registers === undefined) fs.activeByName.set(local.name, [fs.activeCount]);
    else registers.push(fs.activeCount);
    fs.activeCount += 1;
  }
}

export function removeLocals(fs: FunctionState, down: number): void {
  while (fs.activeCount > down) {
    fs.activeCount -= 1;
    const local = fs.locals[fs.declared.pop()!]!;
    local.end = fs.pc;
    fs.activeByName.get(local.name)!.pop();
  }
}

export function enterBlock(fs: FunctionState, isLoop: boolean): Block {
  const block: Block = {
    around: fs.block,
    breaks: NO_JUMP,
    active: fs.activeCount,
    hasUpvalue: false,
    isLoop,
  };
  fs.block = block;
  return block;
}

export function leaveBlock(fs: FunctionState): void {
  const block = fs.block!;
  fs.block = block.around;
  removeLocals(fs, block.active);
  if (block.hasUpvalue) emit(fs, OP.close, block.active, 0, 0);
  fs.freeRegister = fs.activeCount;
  patchToHere(fs, block.breaks);
}

export function variable(c: Compiler, name: string): Expression {
  const e = resolve(c.fs, name, true);
  return e ?? { ...stringConstant(c, name), kind: 'global' };
}

/** Undefined: it is global. Functions are as deep within each other as the parser goes, no deeper. */
function resolve(
  fs: FunctionState | undefined,
  name: string,
  isOwn: boolean,
): Expression | undefined {
  if (fs === undefined) return undefined;
  const register = fs.activeByName.get(name)?.at(-1);
  if (register !== undefined) {
    if (!isOwn) markUpvalue(fs, register);
    return expression('local', register);
  }
  const outer = resolve(fs.around, name, false);
  if (outer === undefined) return undefined;
  return expression('upvalue', upvalueIndex(fs, name, outer));
}

function upvalueIndex(fs: FunctionState, name: string, outer: Expression): number {
  const isLocal = outer.kind === 'local';
  const { upvalues } = fs;
  const known = upvalues.findIndex((u) => u.isLocal === isLocal && u.index === outer.info);
  if (known >= 0) return known;
  fs.checkLimit(upvalues.length + 1, UPVALUES_MAX, 'upvalues');
  upvalues.push({ name, isLocal, index: outer.info });
  return upvalues.length - 1;
}

/** The block that the variable belongs to has to let go of it when it ends. */
function markUpvalue(fs: FunctionState, register: number): void {
  let block = fs.block;
  while (block !== undefined && block.active > register) block = block.around;
  if (block !== undefined) block.hasUpvalue = true;
}

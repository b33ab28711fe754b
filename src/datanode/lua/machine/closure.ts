/** Functions of scripts, and the variables of around them that they share. */
import type { Proto } from '../syntax/proto.ts';
import type { Closure } from '../values/function.ts';
import type { LuaValue } from '../values/value.ts';

/** A variable: in a register as long as its block runs, afterwards on its own. */
export class Upvalue {
  registers: LuaValue[];
  index: number;

  constructor(registers: LuaValue[], index: number) {
    this.registers = registers;
    this.index = index;
  }

  close(): void {
    this.registers = [this.registers[this.index]];
    this.index = 0;
  }
}

export class LuaClosure implements Closure {
  readonly kind = 'closure';
  readonly proto: Proto;
  readonly upvalues: readonly Upvalue[];

  constructor(proto: Proto, upvalues: readonly Upvalue[]) {
    this.proto = proto;
    this.upvalues = upvalues;
  }
}

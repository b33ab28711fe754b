/** What the operands of an instruction are. */
import { CONSTANT } from '../syntax/opcodes.ts';
import type { LuaValue } from '../values/value.ts';
import { type Operand, UNNAMED } from './errors.ts';
import type { Thread } from './thread.ts';

/** Of B or C: a register or a constant. */
export function operand(t: Thread, field: number): LuaValue {
  return field < CONSTANT ? t.stack[t.base + field] : t.constants[field - CONSTANT];
}

/** With what messages say of it. */
export function describedOperand(t: Thread, field: number): Operand {
  return { value: operand(t, field), register: field < CONSTANT ? field : UNNAMED };
}

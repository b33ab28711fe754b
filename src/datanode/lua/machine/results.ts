/** Where the results of a call go that was not an ordinary one of the script. */
import { aOf, offsetOf } from '../syntax/opcodes.ts';
import { isTruthy } from '../values/value.ts';
import { ALL, RESULT, type Values } from './frame.ts';
import { endHandling } from './nesting.ts';
import { ensureStack, type Thread } from './thread.ts';

/** The frame below is the current one again. */
export function deliver(
  t: Thread,
  callee: number,
  wanted: number,
  result: number,
  target: number,
  values: Values,
): void {
  if (result === RESULT.registers) return toRegisters(t, callee, wanted, values);
  if (result === RESULT.end) return t.machine.endThread(t, values);
  t.boundaries -= 1;
  switch (result) {
    case RESULT.value:
      t.stack[target] = values[0];
      break;
    case RESULT.condition:
      branch(t, isTruthy(values[0]) !== (target === 1));
      break;
    case RESULT.concatenation:
      t.stack[target] = values[0];
      t.concatenated = target;
      t.pc -= 1;
      break;
    case RESULT.iteration:
      toRegisters(t, callee, wanted, values);
      break;
    case RESULT.native:
      endHandling(t);
      t.machine.answer(values);
      break;
    default:
      break;
  }
}

function toRegisters(t: Thread, callee: number, wanted: number, values: Values): void {
  const { stack } = t;
  const count = wanted === ALL ? values.length : wanted;
  if (wanted === ALL) {
    ensureStack(t, callee + count);
    t.top = callee + count;
  }
  for (let n = 0; n < count; n++) stack[callee + n] = values[n];
}

/** The outcome of the comparison that was the last instruction: the jump behind it is taken, or left out. */
export function branch(t: Thread, outcome: boolean): void {
  const wanted = aOf(t.code[t.pc - 1]!) !== 0;
  if (outcome === wanted) t.pc += offsetOf(t.code[t.pc]!);
  t.pc += 1;
}

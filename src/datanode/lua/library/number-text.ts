/** Numbers as strings, charged for what that takes. */
import type { Meter } from '../values/function.ts';
import { formatNumber } from '../values/numbers.ts';

const SAFE_MAX = 1e15;
const WHOLE_STEPS = 4;
/** Fractions take many times as long as whole numbers. */
export const FRACTION_STEPS = 32;

export function numberText(n: number, meter: Meter): string {
  meter.steps(Number.isInteger(n) && Math.abs(n) < SAFE_MAX ? WHOLE_STEPS : FRACTION_STEPS);
  return formatNumber(n);
}

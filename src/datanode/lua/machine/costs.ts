/** What takes the host longer than an instruction, in instructions. */
const SAFE_MAX = 1e15;
const FRACTION_STEPS = 64;

/** Of writing a number: fractions take many times as long as whole numbers. */
export function formatSteps(n: number): number {
  return Number.isInteger(n) && Math.abs(n) < SAFE_MAX ? 4 : FRACTION_STEPS;
}

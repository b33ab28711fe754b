/**
 * Random sequences of steps for suites that compare what two servers do: one that shows a
 * difference is shrunk to the shortest that does, and printed with its seed.
 */
import fc from 'fast-check';

/** The same sequences every time, others with KVORUM_FUZZ_SEED. */
const seed = Number(process.env['KVORUM_FUZZ_SEED'] ?? 1);
const STEPS_MAX = 40;
const STEPS_MEAN = 20;
/** For vitest: a suite ends when its sequences do. */
export const SEQUENCES_TIMEOUT_MS = 3_600_000;

/**
 * About `steps` steps in all. `compare` takes one sequence, throws where it makes a difference, and
 * counts the commands it compared; their sum is printed and returned.
 */
export async function compareSequences<Step>(
  name: string,
  step: fc.Arbitrary<Step>,
  steps: number,
  compare: (sequence: readonly Step[]) => Promise<number>,
): Promise<number> {
  const sequences = fc.array(step, { minLength: 1, maxLength: STEPS_MAX, size: 'max' });
  let commands = 0;
  await fc.assert(
    fc.asyncProperty(sequences, async (sequence) => {
      commands += await compare(sequence);
    }),
    { numRuns: Math.ceil(steps / STEPS_MEAN), seed },
  );
  process.stdout.write(`${name}: ${commands} commands compared\n`);
  return commands;
}

/**
 * A mistake in the machine or in a library of it. Every replica of one build meets it at the same step, so
 * it ends the script alone: as a failure of the replica it would end all of them, again at each start.
 */

export class MachineDefect extends Error {
  override readonly name = 'MachineDefect';
}

/**
 * What the machine comes to. A TypeError or ReferenceError is a defect: the same everywhere. A RangeError is
 * not taken for one: stack and memory are the host's, so that only this replica may have met it; nor is
 * what a command throws, who may have met the disk.
 */
export function guarded<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (failure) {
    if (!(failure instanceof TypeError || failure instanceof ReferenceError)) throw failure;
    // its words are V8's, and not the same in all versions: the script, and its name, are told alone
    throw new MachineDefect(failure.name, { cause: failure });
  }
}

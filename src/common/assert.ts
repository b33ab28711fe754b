/** Assertions stay on in production: a broken invariant must stop what it is of, not spread. */

export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/**
 * Throws an AssertionError with `message` unless `condition` holds. A message with values in it is
 * a function: hot paths must not put together text that nobody reads.
 */
export function assert(condition: unknown, message: string | (() => string)): asserts condition {
  if (!condition) throw new AssertionError(typeof message === 'string' ? message : message());
}

/** Returns `value`, or throws when it is null or undefined. */
export function must<T>(value: T | null | undefined, message: string): T {
  if (value === null || value === undefined) throw new AssertionError(message);
  return value;
}

/** Marks a branch the type checker proves impossible. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}

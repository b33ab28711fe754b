/** A method per command of the table, which its name stands for. */
import { rowsByName } from './key-places.ts';

/**
 * What the methods do. `given` stays a list: spread over another call, 100,000 arguments overflow a
 * stack that has room for them once.
 */
type Run<Caller> = (
  caller: Caller,
  name: string,
  given: readonly unknown[],
  bytes: boolean,
) => unknown;

/** Of the method of a command: `json.set` is `jsonSet`. */
export function methodName(command: string): string {
  return command.replace(/\.(.)/, (_, letter: string) => letter.toUpperCase());
}

/** `get`, `getBuffer` and so on; commands that change their connection have none. */
export function addCommandMethods<Caller extends object>(
  prototype: Caller,
  run: Run<Caller>,
): void {
  const define = (name: string, value: (this: Caller, ...args: readonly unknown[]) => unknown) =>
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  for (const [name, { kind }] of rowsByName) {
    if (kind === 'connection') continue;
    define(methodName(name), function (...args) {
      return run(this, name, args, false);
    });
    define(`${methodName(name)}Buffer`, function (...args) {
      return run(this, name, args, true);
    });
  }
}

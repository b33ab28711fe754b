/** A method per command of the table, which its name stands for. */
import { rowsByName } from './key-places.ts';

/** Something that takes any command by its name. */
interface Caller {
  call(name: string, ...args: readonly unknown[]): unknown;
  callBuffer(name: string, ...args: readonly unknown[]): unknown;
}

/** `get`, `getBuffer` and so on; commands that change their connection have none. */
export function addCommandMethods(prototype: Caller): void {
  const define = (name: string, value: (this: Caller, ...args: readonly unknown[]) => unknown) =>
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  for (const [name, { kind }] of rowsByName) {
    if (kind === 'connection') continue;
    define(name, function (...args) {
      return this.call(name, ...args);
    });
    define(`${name}Buffer`, function (...args) {
      return this.callBuffer(name, ...args);
    });
  }
}

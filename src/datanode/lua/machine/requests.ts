/** What the machine's own library asks for, beside what all libraries may. */
import type { LuaRequest } from '../values/function.ts';
import type { LuaValue } from '../values/value.ts';
import type { Values } from './frame.ts';
import type { Thread } from './thread.ts';

export type MachineRequest =
  | { readonly kind: 'resume'; readonly thread: Thread; readonly args: Values }
  | { readonly kind: 'yield'; readonly values: Values }
  | { readonly kind: 'running' }
  /** A handler of errors is called: as the so many-eth call within each other. */
  | {
      readonly kind: 'handle';
      readonly handler: LuaValue;
      readonly error: LuaValue;
      readonly calls: number;
    };

export type MachineRun = Generator<LuaRequest | MachineRequest, Values, Values>;

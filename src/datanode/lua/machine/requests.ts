/** What the machine's own library asks for, beside what all libraries may. */
import type { LuaRequest } from '../values/function.ts';
import type { Values } from './frame.ts';
import type { Thread } from './thread.ts';

export type MachineRequest =
  | { readonly kind: 'resume'; readonly thread: Thread; readonly args: Values }
  | { readonly kind: 'yield'; readonly values: Values }
  | { readonly kind: 'running' };

export type MachineRun = Generator<LuaRequest | MachineRequest, Values, Values>;

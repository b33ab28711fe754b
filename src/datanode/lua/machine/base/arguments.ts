/** Checks of arguments that only the base library makes. */
import { type Args, refuse } from '../../library/arguments.ts';

/** Something has to be there, if only nil. */
export function checkAny(args: Args, at: number, name: string): void {
  if (args.length < at) refuse(at, name, 'value expected');
}

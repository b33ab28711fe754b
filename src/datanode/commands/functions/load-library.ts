/**
 * A library is loaded: what it does registers its functions. It finds nothing else to do, no time, no random
 * numbers and no data, so what a library comes to depends on its code alone. So it is loaded anew, in a machine
 * of its own, for FUNCTION LOAD and before each call of a function of it: what its variables become in one call
 * no other one sees, and replicas that have run more calls than others know no more than those.
 */
import { limits } from '../../../common/limits.ts';
import type { KeptLibrary } from '../../encoding/scripts/kept-libraries.ts';
import { GLANCE, type Slices } from '../../encoding/steps/slices.ts';
import { Machine } from '../../lua/machine/machine.ts';
import type { Proto } from '../../lua/syntax/proto.ts';
import { LuaError, ScriptLimitError } from '../../lua/values/error.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import type { RunContext } from '../rows/command.ts';
import { shaOf } from '../scripts/compiled.ts';
import { scriptLimits } from '../scripts/machine.ts';
import { guarded, MachineDefect } from '../scripts/machine-defect.ts';
import { errorMessage, lineOf, textOf } from '../scripts/script-errors.ts';
import { compileLibrary } from './compiled-library.ts';
import { parseMetadata } from './library-metadata.ts';
import { loadGlobals, type Registered, registrationsOf } from './register-function.ts';

export type Loading =
  | {
      readonly ok: true;
      readonly library: KeptLibrary;
      readonly code: Buffer;
      /** Of the machine, that it took. */
      readonly steps: number;
    }
  /** An error's text. */
  | { readonly ok: false; readonly message: string };

const DEFECT =
  'ERR the library met a defect of kvorum and cannot be loaded here: please report the library';

/** Without a look at what is kept. */
export function* loadLibrary(code: Buffer): Slices<Loading> {
  const metadata = parseMetadata(code);
  if (!metadata.ok) return metadata;
  const sha = shaOf(code);
  const compiled = compileLibrary(metadata.source, sha);
  if (!compiled.ok) return compiled;
  const machine = new Machine(loadGlobals, {
    ...scriptLimits({ applyVersion: applyVersions.functions }),
    steps: limits.libraryLoadStepsMax,
    bytes: limits.libraryLoadBytesMax,
  });
  const outcome = yield* registered(machine, compiled.proto);
  if (typeof outcome === 'string') return { ok: false, message: outcome };
  if (outcome.size === 0) return { ok: false, message: 'ERR No functions registered' };
  const functions = [...outcome.values()].map(({ name, flags, description }) => {
    return { name, flags, description };
  });
  const library = { name: metadata.name, sha, codeBytes: code.length, functions };
  return { ok: true, library, code, steps: machine.stepsTaken };
}

/** An error's text, or what was registered. */
function* registered(
  machine: Machine,
  proto: Proto,
): Slices<string | ReadonlyMap<string, Registered>> {
  try {
    return yield* register(machine, proto);
  } catch (failure) {
    if (failure instanceof MachineDefect) return DEFECT;
    const isOwn = failure instanceof LuaError || failure instanceof ScriptLimitError;
    if (!isOwn) throw failure;
    const why = failure instanceof LuaError ? errorMessage(failure) : `ERR ${failure.message}`;
    return `ERR Error registering functions: ${lineOf(textOf(why))}`;
  }
}

/** In a machine for a call, which goes on in it; it has been loaded before, by the same code. */
export function* loadForCall(
  proto: Proto,
  context: RunContext,
): Slices<{
  readonly machine: Machine;
  readonly functions: ReadonlyMap<string, Registered>;
}> {
  const machine = new Machine(loadGlobals, scriptLimits(context));
  return { machine, functions: yield* register(machine, proto) };
}

/** Throws LuaError, ScriptLimitError, MachineDefect. */
function* register(machine: Machine, proto: Proto): Slices<ReadonlyMap<string, Registered>> {
  const run = machine.run(proto, []);
  // nothing that it finds asks its host for anything: it pauses
  while (!guarded(() => run.next([])).done) yield GLANCE;
  const registrations = registrationsOf(machine);
  registrations.isOpen = false;
  return registrations.functions;
}

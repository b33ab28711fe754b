/** FCALL and FCALL_RO: the function is found, its library loaded in a machine of the call, and the function run. */
import {
  functionFlags,
  functionNamed,
  type KeptFunction,
  libraryCode,
} from '../../encoding/scripts/kept-libraries.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import { parseInteger } from '../../encoding/strings/string.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { seedRandomNumbers } from '../../lua/library/math.ts';
import { globalsOf } from '../../lua/machine/globals.ts';
import type { Proto } from '../../lua/syntax/proto.ts';
import type { LuaValue } from '../../lua/values/value.ts';
import { error, type Reply } from '../../resp/reply.ts';
import { argument } from '../rows/args.ts';
import type { RunContext, RunResult } from '../rows/command.ts';
import { ENTRY_FULL, isEntryFull } from '../scripts/eval.ts';
import type { Ground, Resolve } from '../scripts/inner-command.ts';
import { listOf, scriptGlobals } from '../scripts/machine.ts';
import { type ProgramRun, runProgram } from '../scripts/run-script.ts';
import { raised, WRITES } from '../scripts/script-errors.ts';
import { compileLibrary, knownLibrary } from './compiled-library.ts';
import { parseMetadata } from './library-metadata.ts';
import { loadForCall } from './load-library.ts';

type Line = readonly Buffer[];

/** As it was sent: what is wrong with the number of keys is told behind what is wrong with the name. */
export interface FunctionCall {
  readonly name: string;
  readonly numkeys: Buffer;
  readonly rest: Line;
}

const KEYS_AT = 3;
const NOT_FOUND = error('ERR Function not found');
/** A build before this one has loaded it, with another outcome. */
const LOST = 'the library does not register the function any more: load it again';

export function parseFunctionCall(line: Line): FunctionCall {
  const name = argument(line, 1).toString('latin1');
  return { name, numkeys: argument(line, 2), rest: line.slice(KEYS_AT) };
}

export function callOf(
  resolve: Resolve,
): (view: WriteView, call: FunctionCall, context: RunContext) => RunResult {
  return (view, call, context) => {
    const found = functionNamed(view, call.name);
    if (found === undefined) return NOT_FOUND;
    if (isEntryFull(view)) return ENTRY_FULL;
    return runCall({ resolve, view, store: view, context }, found, call);
  };
}

export function callReadOnlyOf(
  resolve: Resolve,
): (view: View, call: FunctionCall, context: RunContext) => RunResult {
  return (view, call, context) => {
    const found = functionNamed(view, call.name);
    if (found === undefined) return NOT_FOUND;
    return runCall({ resolve, view, context }, found, call);
  };
}

function runCall(ground: Ground, found: KeptFunction, { numkeys, rest }: FunctionCall): RunResult {
  const { name } = found;
  const count = parseInteger(numkeys);
  if (count === undefined) return error('ERR Bad number of keys provided');
  if (count > rest.length) return error("ERR Number of keys can't be greater than number of args");
  if (count < 0) return error("ERR Number of keys can't be negative");
  const isReadOnly = (found.flags & functionFlags['no-writes']) !== 0;
  if (ground.store === undefined && !isReadOnly) return WRITES;
  const proto = protoOf(ground.view, found);
  if ('kind' in proto) return proto;
  const [keys, args] = [rest.slice(0, Number(count)), rest.slice(Number(count))];
  return runProgram(ground, {
    name,
    isReadOnly,
    run: (driver, seed) =>
      callFunction(driver, proto, { name, keys, args, seed, context: ground.context }),
  });
}

/** Compiled, or the error that it could not be. */
function protoOf(view: View, { library, sha }: KeptFunction): Proto | Reply {
  const known = knownLibrary(sha);
  if (known !== undefined) return known;
  const metadata = parseMetadata(libraryCode(view, library)!);
  if (!metadata.ok) return error(metadata.message);
  const compiled = compileLibrary(metadata.source, sha);
  return compiled.ok ? compiled.proto : error(compiled.message);
}

interface Called {
  readonly name: string;
  readonly keys: Line;
  readonly args: Line;
  readonly seed: number;
  readonly context: RunContext;
}

function* callFunction(
  driver: ProgramRun,
  proto: Proto,
  { name, keys, args, seed, context }: Called,
): Slices<readonly LuaValue[]> {
  const { machine, functions } = yield* loadForCall(proto, context);
  const registered = functions.get(name.toLowerCase());
  if (registered === undefined) throw raised(LOST);
  machine.globals = globalsOf(scriptGlobals, {}).table;
  seedRandomNumbers(machine, seed);
  const given = [yield* listOf(keys), yield* listOf(args)];
  return yield* driver.drive(machine.call(registered.callback, given));
}

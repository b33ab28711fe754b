/** The machine, with what scripts of clients find in it. */
import { limits } from '../../../common/limits.ts';
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import { bitLibrary } from '../../lua/library/bit.ts';
import { cjsonLibrary } from '../../lua/library/cjson.ts';
import { cmsgpackLibrary } from '../../lua/library/cmsgpack.ts';
import { mathLibrary, seedRandomNumbers } from '../../lua/library/math.ts';
import { stringLibrary } from '../../lua/library/string.ts';
import { structLibrary } from '../../lua/library/struct.ts';
import { tableLibrary } from '../../lua/library/table.ts';
import { globalsOf, shareGlobals } from '../../lua/machine/globals.ts';
import { Machine, type MachineLimits, type ScriptRun } from '../../lua/machine/machine.ts';
import type { Proto } from '../../lua/syntax/proto.ts';
import { LuaTable } from '../../lua/values/table.ts';
import { handlesDeep, isAsLaterRedis } from '../rows/apply-versions.ts';
import type { RunContext } from '../rows/command.ts';
import { redisLibrary } from './redis-library.ts';
import type { ScriptCall } from './script-args.ts';

export const scriptGlobals = shareGlobals({
  string: stringLibrary(),
  table: tableLibrary(),
  math: mathLibrary(),
  bit: bitLibrary(),
  struct: structLibrary(),
  cjson: cjsonLibrary(),
  cmsgpack: cmsgpackLibrary(),
  redis: redisLibrary,
});

/** What a run may come to, in an entry of that version. */
export function scriptLimits(context: Pick<RunContext, 'applyVersion'>): MachineLimits {
  return {
    unpacksLess: !isAsLaterRedis(context),
    handlesWhereCaught: !handlesDeep(context),
    steps: limits.scriptStepsMax,
    bytes: limits.scriptBytesMadeMax,
    pauseSteps: limits.scriptPauseSteps,
    callSteps: limits.scriptCallStepsMax,
  };
}

/**
 * Yields as the machine says; what it asks of its host are HostRequests of `redis-library.ts`. `seed`, 32 bits: where
 * its random numbers begin.
 */
export function* startScript(
  proto: Proto,
  { keys, args }: ScriptCall,
  seed: number,
  context: RunContext,
): Slices<ScriptRun> {
  const own = { KEYS: yield* listOf(keys), ARGV: yield* listOf(args) };
  const machine = new Machine(globalsOf(scriptGlobals, own), scriptLimits(context));
  seedRandomNumbers(machine, seed);
  return machine.run(proto, []);
}

/** `KEYS` or `ARGV`. */
export function* listOf(values: readonly Buffer[]): Slices<LuaTable> {
  const list = new LuaTable();
  for (let at = 0; at < values.length; at++) {
    if (at > 0 && isGlanceDue(at)) yield GLANCE;
    list.set(at + 1, values[at]!.toString('latin1'));
  }
  return list;
}

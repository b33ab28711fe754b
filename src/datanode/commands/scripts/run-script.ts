/**
 * One run of a script: the machine goes on until it pauses, so that others have their turns, or asks for a
 * command, which is carried out on the view of the script's entry. Nothing comes in between.
 */
import { limits } from '../../../common/limits.ts';
import { GLANCE, NOTHING, type Slices } from '../../encoding/steps/slices.ts';
import type { ScriptRun as MachineRun } from '../../lua/machine/machine.ts';
import { LuaError, ScriptLimitError } from '../../lua/values/error.ts';
import type { Meter } from '../../lua/values/function.ts';
import type { LuaValue } from '../../lua/values/value.ts';
import type { Protocol, Reply } from '../../resp/reply.ts';
import { ReplyTooLargeError } from '../../resp/reply-pile.ts';
import { commandLine } from './command-line.ts';
import type { Script } from './compiled.ts';
import { allowed, type Ground, isKnown, runInner } from './inner-command.ts';
import { luaToReply } from './lua-to-reply.ts';
import { startScript } from './machine.ts';
import { guarded, MachineDefect } from './machine-defect.ts';
import type { HostRequest } from './redis-library.ts';
import { replyToLua } from './reply-to-lua.ts';
import type { ScriptCall } from './script-args.ts';
import { ended, raised, uncaught } from './script-errors.ts';

type Values = readonly LuaValue[];
type Command = Extract<HostRequest, { kind: 'command' }>;

/** Commands that are run before others may have their turn; between any two a look at the clock. */
const COMMANDS_STEP = 16;
/** What a command costs in steps of the machine: it takes 4 to 10 µs, and what it writes as much again. */
const COMMAND_STEPS = 500;
/** Of 32 bits. */
const SEEDS = 2 ** 32;

const DEFECT =
  'ERR the script met a defect of kvorum and was ended there, what it had written stays';

/** What is run: a script, or a function of a library. */
export interface Program {
  /** As errors name it: a script's SHA-1. */
  readonly name: string;
  readonly isReadOnly: boolean;
  /** `seed`, 32 bits: where its random numbers begin. */
  readonly run: (driver: ProgramRun, seed: number) => Slices<Values>;
}

/** Where the script may write, `ground` has a store. */
export function runScript(ground: Ground, script: Script, call: ScriptCall): Slices<Reply> {
  return runProgram(ground, {
    name: script.sha,
    isReadOnly: script.flags.isReadOnly,
    *run(driver, seed) {
      const started = yield* startScript(script.proto, call, seed, ground.context);
      return yield* driver.drive(started);
    },
  });
}

/** The same of any program. */
export function* runProgram(ground: Ground, program: Program): Slices<Reply> {
  const { name } = program;
  const run = new ProgramRun(program.isReadOnly ? { ...ground, store: undefined } : ground);
  try {
    const seed = Math.floor(ground.context.random() * SEEDS);
    const values = yield* program.run(run, seed);
    return yield* luaToReply(values[0], run.protocol);
  } catch (failure) {
    if (failure instanceof LuaError) return uncaught(name, failure);
    if (failure instanceof ScriptLimitError) return ended(name, `ERR ${failure.message}`);
    if (failure instanceof ReplyTooLargeError) return failure.reply;
    if (failure instanceof MachineDefect)
      return ended(name, `${DEFECT} (${failure.message}): please report the`);
    throw failure;
  }
}

/** One run, with what it has chosen and done so far. */
export class ProgramRun {
  protocol: Protocol = 2;
  readonly #ground: Ground;
  readonly #putBefore: number;
  #commands = 0;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#putBefore = ground.store?.putBytes ?? 0;
  }

  /** To the end of what the machine has begun. */
  *drive(machine: MachineRun): Slices<Values> {
    let step = guarded(() => machine.next([]));
    while (!step.done) {
      if (step.value.kind === 'pause') {
        yield GLANCE;
        step = guarded(() => machine.next([]));
        continue;
      }
      const answer = yield* this.#answer(step.value.request as HostRequest);
      step = guarded(() =>
        answer instanceof LuaError ? machine.throw(answer) : machine.next(answer),
      );
    }
    return step.value;
  }

  /** An error is raised where the script has asked. */
  *#answer(request: HostRequest): Slices<Values | LuaError> {
    switch (request.kind) {
      case 'command':
        return yield* this.#command(request);
      case 'setresp':
        this.protocol = request.protocol;
        return [];
      case 'check':
        return this.#check(request.args, request.meter);
    }
  }

  *#command({ args, isProtected, meter }: Command): Slices<Values | LuaError> {
    yield ++this.#commands % COMMANDS_STEP === 0 ? NOTHING : GLANCE;
    meter.steps(COMMAND_STEPS);
    try {
      const line = commandLine(args, meter);
      const row = allowed(this.#ground, line);
      if (row.kind === 'write') this.#checkRoom();
      const reply = yield* runInner(this.#ground, row, line);
      const value = yield* replyToLua(reply, this.protocol, meter);
      return reply.kind === 'error' && !isProtected ? new LuaError(value, 0) : [value];
    } catch (failure) {
      if (!(failure instanceof LuaError)) throw failure;
      return isProtected ? [failure.value] : failure;
    }
  }

  /** Every replica holds at once what an entry changes. */
  #checkRoom(): void {
    const put = (this.#ground.store?.putBytes ?? 0) - this.#putBefore;
    if (put <= limits.scriptPutBytesMax) return;
    throw new ScriptLimitError(
      `the script has put more than ${limits.scriptPutBytesMax} bytes into keys`,
    );
  }

  /** Who may run scripts may run all that they call. */
  #check(args: Values, meter: Meter): Values | LuaError {
    try {
      const line = commandLine(args, meter);
      if (isKnown(this.#ground, line)) return [true];
      return raised('Invalid command passed to redis.acl_check_cmd()');
    } catch (failure) {
      if (!(failure instanceof LuaError)) throw failure;
      return failure;
    }
  }
}

/** `coroutine`. */
import { type Args, refuse } from '../../library/arguments.ts';
import { LuaError } from '../../values/error.ts';
import { type Library, type LuaRun, type Meter, native } from '../../values/function.ts';
import { LuaClosure } from '../closure.ts';
import type { Values } from '../frame.ts';
import type { Machine } from '../machine.ts';
import type { MachineRun } from '../requests.ts';
import { Thread } from '../thread.ts';

const THREAD_BYTES = 1_024;

/** Its own requests are the machine's alone: what other libraries may yield does not name them. */
function run(of: MachineRun): LuaRun {
  return of as LuaRun;
}

const create = native('create', (args, meter) => [createThread(args, 'create', meter)]);

function createThread(args: Args, name: string, meter: Meter): Thread {
  const [f] = args;
  if (!(f instanceof LuaClosure)) return refuse(1, name, 'Lua function expected');
  meter.bytes(THREAD_BYTES);
  const thread = new Thread(meter as Machine);
  thread.stack.push(f);
  return thread;
}

function checkThread(args: Args, name: string): Thread {
  const [thread] = args;
  return thread instanceof Thread ? thread : refuse(1, name, 'coroutine expected');
}

const resume = native('resume', (args) => {
  return run(resumeThread(checkThread(args, 'resume'), args.slice(1)));
});

function* resumeThread(thread: Thread, args: Values): MachineRun {
  try {
    const values = yield { kind: 'resume', thread, args };
    return [true, ...values];
  } catch (failure) {
    if (!(failure instanceof LuaError)) throw failure;
    return [false, failure.value];
  }
}

const wrap = native('wrap', (args, meter) => {
  const thread = createThread(args, 'wrap', meter);
  return [native('wrap', (values) => run(continueThread(thread, values)))];
});

function* continueThread(thread: Thread, args: Values): MachineRun {
  try {
    return yield { kind: 'resume', thread, args };
  } catch (failure) {
    if (!(failure instanceof LuaError)) throw failure;
    // The message says once more where: in who has resumed it.
    throw new LuaError(failure.value, typeof failure.value === 'string' ? 1 : 0);
  }
}

const yieldOut = native('yield', (args) => run(yieldThread(args)));

function* yieldThread(values: Values): MachineRun {
  return yield { kind: 'yield', values };
}

const status = native('status', (args) => [checkThread(args, 'status').status]);

const running = native('running', () => run(runningThread()));

function* runningThread(): MachineRun {
  return yield { kind: 'running' };
}

export const coroutineLibrary: Library = { create, resume, wrap, yield: yieldOut, status, running };

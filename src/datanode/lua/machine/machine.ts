/**
 * Runs scripts. Calls of the script are frames, not calls of the host, so it stops between any two steps:
 * to let others have their turn, or to wait for what a library asks of the host.
 *
 * Steps and bytes are counted, and what goes beyond ends the script, on every replica at the same place. So
 * the counts are part of the apply version: what each instruction and library charges may only change with
 * a new one. They depend on the script and the answers alone, not on pauses or what is cached.
 */

import type { Proto } from '../syntax/proto.ts';
import { ScriptLimitError } from '../values/error.ts';
import type { LuaRequest, Meter, NativeFunction } from '../values/function.ts';
import type { LuaTable } from '../values/table.ts';
import type { LuaValue } from '../values/value.ts';
import { call, callFromWithin } from './calls.ts';
import { LuaClosure } from './closure.ts';
import { resume, yieldValues } from './coroutines.ts';
import { ALL, RESULT, type Values } from './frame.ts';
import type { Globals } from './globals.ts';
import { INSTRUCTIONS } from './instructions.ts';
import { handleWithin } from './nesting.ts';
import type { MachineRequest } from './requests.ts';
import { deliver } from './results.ts';
import { ensureStack, popFrame, Thread } from './thread.ts';
import { unwind } from './unwinding.ts';

export interface MachineLimits {
  /** Instructions, and what libraries charge. */
  readonly steps: number;
  /** Bytes that are made, whether or not they are kept. */
  readonly bytes: number;
  /** So many steps, about, until others have their turn. */
  readonly pauseSteps: number;
  /** What a library charges at once: it does not pause. */
  readonly callSteps: number;
  /** `unpack` gives fewer values than Lua has room for: as builds did. */
  readonly unpacksLess?: boolean;
  /** `xpcall` calls its handler where it has caught the error, not where that was raised: as builds did. */
  readonly handlesWhereCaught?: boolean;
}

export type HostRequest =
  | { readonly kind: 'pause' }
  | { readonly kind: 'host'; readonly request: unknown };

export type ScriptRun = Generator<HostRequest, Values, Values>;

const PAUSE: HostRequest = { kind: 'pause' };
const NOTHING: Values = [];

/** One run of one script, or of a library and then of a function of it: it is not used twice. */
export class Machine implements Meter {
  /** What its functions find by name, whenever they were made. */
  globals: LuaTable;
  readonly stringMetatable: LuaTable;
  /** The library's function that runs at this moment and has no frame. */
  runningNative: NativeFunction | undefined;
  /** While a library's function runs. */
  private callStepsLeft = Number.POSITIVE_INFINITY;
  private current: Thread;
  private readonly pauseSteps: number;
  /** Steps up to where the loop looks up, and those behind. */
  private slice = 0;
  private reserve: number;
  private sincePause = 0;
  private bytesLeft: number;
  private readonly limits: MachineLimits;
  /** What the library's function in the top frame is continued with. */
  private answered: Values | undefined;
  private results: Values | undefined;
  private readonly addresses = new WeakMap<object, number>();
  private addressCount = 0;

  constructor(globals: Globals, limits: MachineLimits) {
    this.globals = globals.table;
    this.stringMetatable = globals.stringMetatable;
    this.limits = limits;
    this.reserve = limits.steps;
    this.bytesLeft = limits.bytes;
    this.pauseSteps = limits.pauseSteps;
    this.current = new Thread(this);
  }

  /** How many steps it has taken so far. */
  get stepsTaken(): number {
    return this.limits.steps - this.slice - this.reserve;
  }

  get unpacksLess(): boolean {
    return this.limits.unpacksLess === true;
  }

  get handlesWhereCaught(): boolean {
    return this.limits.handlesWhereCaught === true;
  }

  get bytesMade(): number {
    return this.limits.bytes - this.bytesLeft;
  }

  steps(count: number): void {
    this.callStepsLeft -= count;
    if (this.callStepsLeft < 0) {
      this.endCall();
      const most = this.limits.callSteps;
      throw new ScriptLimitError(
        `one call of the script to a library takes more than ${most} steps`,
      );
    }
    this.slice -= count;
    if (this.slice >= 0) return;
    this.reserve += this.slice;
    this.slice = 0;
    if (this.reserve >= 0) return;
    this.reserve = 0;
    throw new ScriptLimitError(`the script takes more than ${this.limits.steps} steps`);
  }

  bytes(count: number): void {
    this.bytesLeft -= count;
    if (this.bytesLeft >= 0) return;
    this.bytesLeft = 0;
    throw new ScriptLimitError(`the script makes more than ${this.limits.bytes} bytes`);
  }

  /**
   * Results of the script. Requests of libraries are handed on, and continued with their answers; a LuaError
   * that is thrown in is one of the request. Throws LuaError (level 0, with a position), ScriptLimitError.
   */
  run(proto: Proto, args: Values): ScriptRun {
    return this.call(new LuaClosure(proto, []), args);
  }

  /** Results of a function that an earlier run has left, once that is over; as `run`. */
  *call(callee: LuaValue, args: Values): ScriptRun {
    let request: HostRequest | undefined;
    let hasBegun = false;
    for (;;) {
      try {
        if (!hasBegun) {
          hasBegun = true;
          this.begin(callee, args);
        }
        request ??= this.advance();
        if (request === undefined) return this.results!;
        const { kind } = request;
        const answer = yield request;
        request = undefined;
        if (kind === 'host') this.answer(answer);
      } catch (failure) {
        request = unwind(this.current, failure);
      }
    }
  }

  /** What `tostring` shows of a value without a text: they are counted, so it is alike on all replicas. */
  addressOf(value: object): string {
    let count = this.addresses.get(value);
    if (count === undefined) {
      count = ++this.addressCount;
      this.addresses.set(value, count);
    }
    return `0x${count.toString(16).padStart(12, '0')}`;
  }

  /** A library's function begins, or goes on: it holds up all others until `endCall`. */
  beginCall(): void {
    this.callStepsLeft = this.limits.callSteps;
  }

  endCall(): void {
    this.callStepsLeft = Number.POSITIVE_INFINITY;
  }

  /** The top frame's function goes on with these values. */
  answer(values: Values): void {
    this.answered = values;
    this.lookUp();
  }

  /** Of a coroutine or of the script: its last frame is gone. */
  endThread(t: Thread, values: Values): void {
    t.status = 'dead';
    const { resumer } = t;
    if (resumer === undefined) this.results = values;
    else this.switchTo(resumer, values);
    this.lookUp();
  }

  /** Another coroutine runs, and its top frame's function goes on with these values. */
  switchTo(t: Thread, values: Values): void {
    t.status = 'running';
    this.current = t;
    this.answer(values);
  }

  /** Another coroutine's frames are to run. */
  makeCurrent(t: Thread): void {
    this.current = t;
    this.lookUp();
  }

  private begin(callee: LuaValue, args: Values): void {
    if (this.results !== undefined) this.current = new Thread(this);
    this.results = undefined;
    const t = this.current;
    t.status = 'running';
    ensureStack(t, args.length + 1);
    t.stack[0] = callee;
    for (const [n, value] of args.entries()) t.stack[1 + n] = value;
    call(t, 0, args.length, ALL, RESULT.end, 0);
  }

  /** On to the next request; undefined: the script is over. */
  private advance(): HostRequest | undefined {
    while (this.results === undefined) {
      const t = this.current;
      if (this.isPauseDue()) return PAUSE;
      if (t.frame.run === undefined) {
        this.execute(t);
      } else {
        const request = this.continueNative(t);
        if (request !== undefined) return request;
      }
    }
    return undefined;
  }

  /** Gives the loop its next slice, unless others are to have their turn first. */
  private isPauseDue(): boolean {
    this.reserve += this.slice;
    this.slice = 0;
    const taken = this.limits.steps - this.reserve;
    if (taken - this.sincePause >= this.pauseSteps) {
      this.sincePause = taken;
      return true;
    }
    if (this.reserve === 0) this.steps(1);
    this.slice = Math.min(this.reserve, this.pauseSteps - (taken - this.sincePause));
    this.reserve -= this.slice;
    return false;
  }

  /** The loop ends before the next instruction. */
  private lookUp(): void {
    this.reserve += this.slice;
    this.slice = 0;
  }

  private execute(t: Thread): void {
    while (this.slice > 0) {
      this.slice -= 1;
      const i = t.code[t.pc]!;
      t.pc += 1;
      INSTRUCTIONS[i & 0x3f]!(t, i);
    }
  }

  /** A library's function that has a frame goes on to its next request, or to its end. */
  private continueNative(t: Thread): HostRequest | undefined {
    const { frame } = t;
    const values = this.answered ?? NOTHING;
    this.answered = undefined;
    this.steps(1);
    this.beginCall();
    const step = frame.run!.next(values);
    this.endCall();
    if (!step.done) return this.serve(t, step.value);
    this.finishNative(t, step.value);
    return undefined;
  }

  /** The function in the top frame is over. */
  finishNative(t: Thread, values: Values): void {
    const { frame } = t;
    popFrame(t);
    deliver(t, frame.callee, frame.wanted, frame.result, frame.target, values);
  }

  serve(t: Thread, request: LuaRequest | MachineRequest): HostRequest | undefined {
    switch (request.kind) {
      case 'host':
        return request;
      case 'call':
        this.callForNative(t, request.callee, request.args);
        return undefined;
      case 'handle':
        handleWithin(t, request.calls);
        this.callForNative(t, request.handler, [request.error]);
        return undefined;
      case 'resume':
        resume(t, request.thread, request.args);
        return undefined;
      case 'yield':
        yieldValues(t, request.values);
        return undefined;
      case 'running':
        this.answer([t.resumer === undefined ? undefined : t]);
        return undefined;
    }
  }

  private callForNative(t: Thread, callee: LuaValue, args: Values): void {
    const at = t.frame.base;
    ensureStack(t, at + args.length + 1);
    t.stack[at] = callee;
    for (let n = 0; n < args.length; n++) t.stack[at + 1 + n] = args[n];
    callFromWithin(t, at, args.length, ALL, RESULT.native, 0);
  }
}

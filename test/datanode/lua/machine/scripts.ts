/** Runs scripts with the machine's own library, and a little of `string`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { globalsOf, shareGlobals } from '../../../../src/datanode/lua/machine/globals.ts';
import { Machine } from '../../../../src/datanode/lua/machine/machine.ts';
import { compile } from '../../../../src/datanode/lua/syntax/compile.ts';
import { LuaError } from '../../../../src/datanode/lua/values/error.ts';
import { native } from '../../../../src/datanode/lua/values/function.ts';
import { LuaTable } from '../../../../src/datanode/lua/values/table.ts';
import type { LuaValue } from '../../../../src/datanode/lua/values/value.ts';

/** `ask(…)` is handed to the host; `each(f)` calls f with 1, 2, 3; `work(n)` takes n steps. */
export const shared = shareGlobals({
  string: {
    upper: native('upper', (args) => [String(args[0]).toUpperCase()]),
  },
  test: {
    ask: native('ask', function* (args) {
      return yield { kind: 'host', request: args };
    }),
    each: native('each', function* (args) {
      for (let n = 1; n <= 3; n++) yield { kind: 'call', callee: args[0], args: [n] };
      return ['done'];
    }),
    work: native('work', (args, meter) => {
      meter.steps(Number(args[0]));
      return [];
    }),
  },
});

export interface Options {
  readonly steps?: number;
  readonly bytes?: number;
  readonly pauseSteps?: number;
  readonly callSteps?: number;
  readonly args?: readonly LuaValue[];
  readonly host?: (request: unknown) => readonly LuaValue[];
}

export interface Outcome {
  readonly values: readonly LuaValue[];
  readonly failure: unknown;
  readonly pauses: number;
  readonly steps: number;
  readonly bytes: number;
}

export function runScript(source: string, options: Options = {}): Outcome {
  const { host = () => [] } = options;
  const machine = new Machine(globalsOf(shared, { KEYS: new LuaTable(), ARGV: new LuaTable() }), {
    steps: options.steps ?? 10_000_000,
    bytes: options.bytes ?? 100_000_000,
    pauseSteps: options.pauseSteps ?? 1_000,
    callSteps: options.callSteps ?? 10_000_000,
  });
  let pauses = 0;
  let values: readonly LuaValue[] = [];
  let failure: unknown;
  try {
    const run = machine.run(compile(source), options.args ?? []);
    let step = run.next([]);
    while (!step.done) {
      if (step.value.kind === 'pause') {
        pauses += 1;
        step = run.next([]);
      } else {
        const answer = attempt(() => host((step.value as { request: unknown }).request));
        step = answer instanceof LuaError ? run.throw(answer) : run.next(answer);
      }
    }
    values = step.value;
  } catch (thrown) {
    failure = thrown;
  }
  return { values, failure, pauses, steps: machine.stepsTaken, bytes: machine.bytesMade };
}

function attempt<T>(work: () => T): T | LuaError {
  try {
    return work();
  } catch (failure) {
    if (failure instanceof LuaError) return failure;
    throw failure;
  }
}

/** As EVAL shows it, in short: strings in quotes, integers, nil as null. */
export function replyOf(value: LuaValue): string {
  if (value === undefined || value === false) return 'null';
  if (value === true) return '1';
  if (typeof value === 'number') return String(Math.trunc(value) + 0);
  if (typeof value === 'string') return JSON.stringify(value);
  if (!(value instanceof LuaTable)) return 'null';
  const items: string[] = [];
  for (let n = 1; value.get(n) !== undefined; n++) items.push(replyOf(value.get(n)));
  return `[${items.join(',')}]`;
}

/** The reply, or the error's message. */
export function evaluate(source: string, options: Options = {}): string {
  const { values, failure } = runScript(source, options);
  if (failure === undefined) return replyOf(values[0]);
  if (!(failure instanceof LuaError)) throw failure;
  const { value } = failure;
  return String(value instanceof LuaTable ? value.get('err') : value);
}

export interface Case {
  readonly source: string;
  readonly answer: string;
}

/** Sources with what Redis 7.0.15 answered, from a file beside the tests. */
export function readCases(folder: string, name: string): Case[] {
  const text = readFileSync(join(folder, 'testdata', name), 'latin1');
  return text
    .split(/(?<=^=> .*)\n\n/m)
    .filter((block) => block.trim() !== '')
    .map((block) => {
      const at = block.lastIndexOf('\n=> ');
      return { source: block.slice(0, at), answer: block.slice(at + 4).trimEnd() };
    });
}

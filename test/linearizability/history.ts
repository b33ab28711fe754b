/**
 * Histories of Redis clients: what was sent, when, and what came of it. Keys that commands join
 * (transactions) are judged together, all others each by itself.
 */
import {
  choices,
  isModelled,
  Keyspace,
  type Ran,
  type Reply,
  runCommand,
  runTransaction,
} from './keyspace.ts';
import {
  type Bounds,
  type DelayedEffect,
  defaultBounds,
  type Finding,
  type Operation,
} from './operation.ts';
import type { Place } from './places.ts';
import { findOrder } from './search.ts';

export interface Call {
  /** Shown with a finding; nothing is concluded from it. */
  readonly client: string;
  /** One line; or the lines between MULTI and EXEC, of which there may be one, too. */
  readonly lines: readonly (readonly string[])[];
  readonly isTransaction?: boolean;
  /** The transaction watched this key, and it had this value (null: none) behind the watch. */
  readonly watched?: { readonly key: string; readonly text: string | null };
  readonly invokedMs: number;
  /** Infinity when the outcome is unknown. */
  readonly returnedMs: number;
  /** Absent when the outcome is unknown. What was refused without effect does not belong here. */
  readonly reply?: Reply;
  /** Where it stood in a log, if the server has told it. */
  readonly place?: Place;
}

/** How far from its deadline a key may vanish, by the client's clock. */
export interface Slack {
  readonly earlyMs: number;
  readonly lateMs: number;
}

export interface PartFinding {
  readonly keys: readonly string[];
  readonly calls: readonly Call[];
  readonly finding: Finding;
}

const READS = new Set([
  ...['GET', 'EXISTS', 'LLEN', 'LRANGE'],
  ...['SISMEMBER', 'SCARD', 'SMEMBERS', 'SRANDMEMBER'],
]);

/** All parts of the history that are not linearizable, or too large to tell. */
export function judgeHistory(
  calls: readonly Call[],
  slack: Slack = { earlyMs: 0, lateMs: 0 },
  bounds: Bounds = defaultBounds,
): readonly PartFinding[] {
  return partsOf(calls)
    .map((part) => ({ ...part, finding: judgePart(part.calls, slack, bounds) }))
    .filter(({ finding }) => finding.verdict !== 'yes');
}

export function judgePart(
  calls: readonly Call[],
  slack: Slack = { earlyMs: 0, lateMs: 0 },
  bounds: Bounds = defaultBounds,
): Finding {
  const members = membersOf(calls);
  const operations = calls
    .filter((call) => call.reply !== undefined || !isRead(call))
    .flatMap((call, at) => {
      const delayed = deadlines(call, slack);
      return operationsOf(call, at, members).map((operation) => ({ ...operation, delayed }));
    });
  return findOrder(operations, new Keyspace(), (state) => state.text, bounds);
}

/** The history cut into what must be judged together; pure, in the order of first appearance. */
export function partsOf(
  calls: readonly Call[],
): readonly { readonly keys: readonly string[]; readonly calls: readonly Call[] }[] {
  const parent = new Map<string, string>();
  const rootOf = (key: string): string => {
    let at = key;
    for (;;) {
      const next = parent.get(at);
      if (next === undefined) parent.set(at, at);
      if (next === undefined || next === at) break;
      at = next;
    }
    parent.set(key, at);
    return at;
  };
  for (const call of calls) {
    const [first, ...others] = keysOf(call);
    for (const key of others) parent.set(rootOf(key), rootOf(first!));
  }
  const parts = new Map<string, { keys: Set<string>; calls: Call[] }>();
  for (const call of calls) {
    const keys = keysOf(call);
    if (keys.length === 0) continue;
    const root = rootOf(keys[0]!);
    const part = parts.get(root) ?? { keys: new Set(), calls: [] };
    parts.set(root, part);
    for (const key of keys) part.keys.add(key);
    part.calls.push(call);
  }
  return [...parts.values()].map((part) => ({ keys: [...part.keys], calls: part.calls }));
}

export function keysOf({ lines, watched }: Call): readonly string[] {
  return [...new Set([...lines.map(([, key = '']) => key), ...(watched ? [watched.key] : [])])];
}

export function isRead({ lines }: Call): boolean {
  return lines.every(([name = '']) => READS.has(name.toUpperCase()));
}

export function showCall(call: Call): string {
  const words = call.lines.map((line) => line.join(' ')).join(', ');
  const line = call.isTransaction ? `MULTI ${words} EXEC` : words;
  const times = `${call.invokedMs.toFixed(1)}–${call.returnedMs.toFixed(1)}`;
  const told = call.reply === undefined ? 'unknown' : JSON.stringify(call.reply);
  return `${times} ${call.client} ${line}: ${told}`;
}

/** All that was ever added to each set. */
export function membersOf(calls: readonly Call[]): (key: string) => readonly string[] {
  const added = new Map<string, Set<string>>();
  for (const [name = '', key = '', ...members] of calls.flatMap(({ lines }) => lines)) {
    if (name.toUpperCase() !== 'SADD') continue;
    const known = added.get(key) ?? new Set();
    added.set(key, known);
    for (const one of members) known.add(one);
  }
  return (key) => [...(added.get(key) ?? [])];
}

/**
 * One; or, of a call whose outcome is unknown and that draws, one for each draw, of which one at
 * most takes effect: the state remembers that it has. `at` tells such calls apart.
 */
export function operationsOf(
  call: Call,
  at: number,
  members: (key: string) => readonly string[],
): Operation<Keyspace>[] {
  for (const [name = ''] of call.lines) {
    if (!isModelled(name)) throw new Error(`${name} has no model: a history cannot hold it`);
  }
  const draws = call.reply === undefined ? choices(call.lines, members) : undefined;
  if (draws === undefined) return [operationOf(call)];
  const { invokedMs, returnedMs, lines, watched } = call;
  return draws.map((told) => ({
    label: `${showCall(call)}, if it drew ${JSON.stringify(told)}`,
    ...{ invokedMs, returnedMs },
    step(state) {
      if (state.isSettled(at)) return undefined;
      if (watched !== undefined && textAt(state, watched.key) !== watched.text) return undefined;
      const ran = runTransaction(state, lines, told);
      const fits = lines.every(([name = ''], line) => {
        const own = (ran.reply as Reply[])[line]!;
        const isError = typeof own === 'string' && own.startsWith('-');
        return name.toUpperCase() !== 'SPOP' || isError || isEqual(own, told[line]!);
      });
      return fits ? ran.state.settled(at) : undefined;
    },
  }));
}

function operationOf(call: Call): Operation<Keyspace> {
  const { invokedMs, returnedMs, reply, watched } = call;
  const unordered = call.lines.map(([name = '']) => name.toUpperCase() === 'SMEMBERS');
  const wanted = reply === undefined ? undefined : inOrder(reply, call, unordered);
  const step = (state: Keyspace): Keyspace | undefined => {
    if (watched !== undefined && textAt(state, watched.key) !== watched.text) return undefined;
    const ran = run(state, call, wanted);
    return wanted === undefined || isEqual(ran.reply, wanted) ? ran.state : undefined;
  };
  const kind = kindOf(call);
  return { label: showCall(call), invokedMs, returnedMs, step, ...(kind && { kind }) };
}

/** Two that are sent alike do the same to every state. */
function kindOf({ lines, isTransaction, watched, reply }: Call): string | undefined {
  if (reply !== undefined || isTransaction || watched) return undefined;
  return lines[0]!.join(' ');
}

function run(state: Keyspace, { lines, isTransaction }: Call, told: Reply | undefined): Ran {
  return isTransaction ? runTransaction(state, lines, told) : runCommand(state, lines[0]!, told);
}

function textAt(state: Keyspace, key: string): string | null {
  const value = state.get(key);
  return value?.type === 'string' ? value.text : null;
}

/** A set's members come in any order. */
function inOrder(reply: Reply, { isTransaction }: Call, unordered: readonly boolean[]): Reply {
  const sort = (one: Reply) => (Array.isArray(one) ? [...(one as string[])].sort() : one);
  if (!isTransaction) return unordered[0] ? sort(reply) : reply;
  if (!Array.isArray(reply)) return reply;
  return reply.map((one: Reply, at) => (unordered[at] ? sort(one) : one));
}

function isEqual(a: Reply, b: Reply): boolean {
  if (typeof a === 'string' && typeof b === 'string' && a.startsWith('-')) {
    return b.startsWith('-') && a.split(' ')[0] === b.split(' ')[0];
  }
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((one: Reply, at) => isEqual(one, b[at] as Reply));
}

/**
 * `SET key value PX ms` makes the key vanish later, from the earliest to the latest moment that the
 * deadline can be at, if it still has that value by then. Values of such keys must be unique: so it
 * does nothing before its SET, nor ever again when the value has become another.
 */
export function deadlines(call: Call, slack: Slack): readonly DelayedEffect<Keyspace>[] {
  return call.lines.flatMap(([name = '', key = '', text = '', ...flags], line) => {
    const upper = flags.map((flag) => flag.toUpperCase());
    const at = upper.indexOf('PX');
    if (name.toUpperCase() !== 'SET' || at < 0) return [];
    const own = call.isTransaction ? (call.reply as readonly Reply[])?.[line] : call.reply;
    if (own === null && !upper.includes('GET')) return []; // NX or XX refused it
    const ttlMs = Number(flags[at + 1]);
    const invokedMs = call.invokedMs + ttlMs - slack.earlyMs;
    const returnedMs = call.returnedMs + ttlMs + slack.lateMs;
    const step = (state: Keyspace) =>
      textAt(state, key) === text ? state.with(key, undefined) : state;
    return [{ label: `the deadline of ${key} ${text}`, invokedMs, returnedMs, step }];
  });
}

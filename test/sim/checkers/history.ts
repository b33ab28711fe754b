/** Every key's history must be linearizable; a key that was read expired never shows again. */
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { judgePart } from '../../linearizability/history.ts';
import type { Reply as PlainReply } from '../../linearizability/keyspace.ts';
import type { Operation, Verdict } from '../../linearizability/operation.ts';
import { isLinearizable } from '../../linearizability/search.ts';
import { type Call, isSet, textOf } from '../call.ts';
import { Violation } from './checker.ts';

/** The value, or that there is none. */
type State = string;
const GONE = '\0gone';
/** A few seconds for a key whose outcomes are mostly unknown; nearly all take milliseconds. */
const BOUNDS = { stepsMax: 400_000, memoryMax: 64 * 1024 * 1024 };

/** Throws Violation; returns how many keys' searches were too long to decide. */
export function checkHistory(history: readonly Call[]): number {
  const byKey = new Map<string, Call[]>();
  for (const call of history) {
    const key = call.words[1]!;
    const calls = byKey.get(key);
    if (calls === undefined) byKey.set(key, [call]);
    else calls.push(call);
  }
  let undecided = 0;
  for (const [key, calls] of byKey) {
    const verdict = isSet(key) ? judgeSet(calls) : judgeText(calls);
    if (verdict === 'undecided') undecided++;
    if (verdict === 'no')
      throw new Violation('history', `${key} is not linearizable:\n${show(calls)}`);
  }
  return undecided;
}

function judgeText(calls: readonly Call[]): Verdict {
  const operations = withoutUnseen(calls).map(operationOf);
  return isLinearizable<State>(operations, GONE, (state) => state, BOUNDS);
}

/** Which member SPOP takes is the server's choice: the model of real clusters' histories knows that. */
function judgeSet(calls: readonly Call[]): Verdict {
  const plain = calls.map(({ client, words, invokedMs, returnedMs, reply }) => ({
    ...{ client: `client${client}`, lines: [words], invokedMs, returnedMs },
    ...(reply !== undefined && { reply: plainOf(reply) }),
  }));
  return judgePart(plain, undefined, BOUNDS).verdict;
}

function plainOf(reply: Reply): PlainReply {
  if (reply.kind === 'integer') return Number(reply.value);
  if (reply.kind === 'array' || reply.kind === 'set') return reply.items.map(plainOf);
  if (reply.kind === 'error') return `-${reply.text}`;
  return reply.kind === 'bulk' || reply.kind === 'simple' ? textOf(reply) : null;
}

/**
 * A SET with an unknown outcome makes no difference when nobody saw its value, or that it was. Lists
 * only grow and are read in the end: an element that nobody saw was never pushed.
 */
function withoutUnseen(calls: readonly Call[]): Call[] {
  // a value nobody read may still have been deleted, or have been in the way of a transaction
  const changes = calls.some(({ words }) => words[0] === 'DEL' || words[0] === 'CAS');
  const seen = new Set(calls.flatMap(({ reply }) => textsOf(reply)));
  return calls.filter(({ words, reply }) => {
    if (reply !== undefined) return true;
    if (words[0] === 'RPUSH') return seen.has(words[2]!);
    return words[0] !== 'GET' && (words[0] !== 'SET' || changes || seen.has(words[2]!));
  });
}

function textsOf(reply: Reply | undefined): string[] {
  return reply?.kind === 'array' ? reply.items.map(textOf) : [textOf(reply)];
}

function operationOf(call: Call): Operation<State> {
  const { words, invokedMs, returnedMs, reply } = call;
  return { label: words.join(' '), invokedMs, returnedMs, step: stepOf(words, reply) };
}

function stepOf(
  words: readonly string[],
  reply: Reply | undefined,
): (state: State) => State | undefined {
  const [name, key, value = ''] = words;
  switch (name) {
    case 'SET':
      return () => value;
    case 'GET':
      return (state) => stepGet(state, textOf(reply), key!.startsWith('e'));
    case 'DEL':
      return (state) => (agrees(reply, exists(state) ? 1 : 0) ? GONE : undefined);
    case 'INCR': {
      return (state) => {
        const next = Number(exists(state) ? state : 0) + 1;
        return agrees(reply, next) ? String(next) : undefined;
      };
    }
    case 'APPEND':
      return (state) => {
        const next = (exists(state) ? state : '') + value;
        return agrees(reply, next.length) ? next : undefined;
      };
    case 'RPUSH':
      return (state) => {
        const next = exists(state) ? `${state}, ${value}` : value;
        return agrees(reply, next.split(', ').length) ? next : undefined;
      };
    case 'LRANGE':
      return (state) => (textOf(reply) === `[${exists(state) ? state : ''}]` ? state : undefined);
    case 'CAS': {
      const wanted = value === '' ? GONE : value;
      return (state) => (state === wanted ? words[3] : undefined);
    }
    default:
      throw new Error(`no model of ${name}`);
  }
}

function exists(state: State): boolean {
  return state !== GONE;
}

/** With a deadline a key may be gone at any moment, and stays gone. */
function stepGet(state: State, answer: string, expires: boolean): State | undefined {
  if (answer === 'null') return expires || !exists(state) ? GONE : undefined;
  return exists(state) && answer === state ? state : undefined;
}

function agrees(reply: Reply | undefined, value: number): boolean {
  return reply === undefined || (reply.kind === 'integer' && Number(reply.value) === value);
}

function show(calls: readonly Call[]): string {
  return calls
    .slice(-60)
    .map(({ client, words, invokedMs, returnedMs, reply }) => {
      const times = `${invokedMs.toFixed(1)}–${returnedMs.toFixed(1)}`;
      return `  ${times} client${client} ${words.join(' ')}: ${textOf(reply)}`;
    })
    .join('\n');
}

/** Other people's histories, with the verdicts of other people's checkers: `public/README.md`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { scale } from '../scale.ts';
import type { Operation } from './operation.ts';
import { isLinearizable } from './search.ts';

type Register = number | null;

interface History {
  readonly name: string;
  readonly wanted: 'yes' | 'no';
  readonly lines: readonly string[];
}

function histories(): readonly History[] {
  const file = join(import.meta.dirname, 'public', 'porcupine.txt.gz');
  const [, ...parts] = gunzipSync(readFileSync(file)).toString().split(/^== /m);
  return parts.map((part) => {
    const [head = '', ...lines] = part.trimEnd().split('\n');
    const [name = '', ...verdict] = head.split(' ');
    return { name, wanted: verdict.join(' ') === 'linearizable' ? 'yes' : 'no', lines };
  });
}

interface Event {
  readonly process: string;
  readonly type: 'invoke' | 'ok' | 'fail' | 'info';
  readonly does: string;
  readonly key: string;
  readonly value: string;
}

/** An invocation with what became of it; places in the file are its times. */
interface Whole {
  readonly asked: Event;
  readonly told: Event | undefined;
  readonly invokedMs: number;
  readonly returnedMs: number;
}

function callsOf(events: readonly Event[]): readonly Whole[] {
  const open = new Map<string, { readonly asked: Event; readonly at: number }>();
  const calls: Whole[] = [];
  const end = (process: string, told: Event | undefined, returnedMs: number) => {
    const { asked, at } = open.get(process)!;
    open.delete(process);
    calls.push({ asked, told, invokedMs: at, returnedMs });
  };
  for (const [at, event] of events.entries()) {
    const { process, type } = event;
    if (type === 'invoke') {
      if (open.has(process)) throw new Error(`${process} asks twice at once`);
      open.set(process, { asked: event, at });
    } else if (type !== 'info') end(process, event, at);
    // else nobody knows: it stays open to the end
  }
  for (const process of [...open.keys()]) end(process, undefined, Number.POSITIVE_INFINITY);
  return calls;
}

const ETCD = /^INFO\s+jepsen\.util\s+-\s+(\d+)\s+:(\w+)\s+:(\w+)\s+(.+)$/;

function etcdEvents(lines: readonly string[]): readonly Event[] {
  return lines.map((line) => {
    const [, process, type, does, value] = ETCD.exec(line) ?? [];
    if (value === undefined) throw new Error(`no event: ${line}`);
    return { process, type, does, key: '', value } as Event;
  });
}

/** The one register: read, write, and compare-and-set; undefined for what says nothing. */
function registerCall(call: Whole): Operation<Register> | undefined {
  const { asked, told, invokedMs, returnedMs } = call;
  const { does } = asked;
  const unknown = told === undefined ? { kind: `${does} ${asked.value}` } : {};
  const made = (step: (state: Register) => Register | undefined) => {
    return { label: `${does} ${asked.value}`, invokedMs, returnedMs, step, ...unknown };
  };
  if (does === 'read') {
    if (told?.type !== 'ok') return undefined;
    const value = told.value === 'nil' ? null : Number(told.value);
    return made((state) => (state === value ? state : undefined));
  }
  if (does === 'write') return made(() => Number(asked.value));
  const [from, to] = asked.value.slice(1, -1).split(/\s+/).map(Number) as [number, number];
  if (told === undefined) return made((state) => (state === from ? to : state));
  if (told.type === 'ok') return made((state) => (state === from ? to : undefined));
  return made((state) => (state === from ? undefined : state));
}

const KV = /^\{:process (\d+), :type :(\w+), :f :(\w+), :key "(\d+)", :value (?:nil|"(.*)")\}$/;

function textEvents(lines: readonly string[]): readonly Event[] {
  return lines.map((line) => {
    const [, process, type, does, key, value = ''] = KV.exec(line) ?? [];
    if (key === undefined) throw new Error(`no event: ${line}`);
    return { process, type, does, key, value } as Event;
  });
}

/** A text that clients appended to; one object for each, since texts are long and compared often. */
class Text {
  readonly text: string;
  readonly #longer = new Map<string, Text>();

  constructor(text: string) {
    this.text = text;
  }

  with(more: string): Text {
    const longer = this.#longer.get(more) ?? new Text(this.text + more);
    this.#longer.set(more, longer);
    return longer;
  }
}

function textCall(empty: Text, { asked, told, invokedMs, returnedMs }: Whole): Operation<Text> {
  const { does, value } = asked;
  const step = (state: Text) => {
    if (does === 'put') return empty.with(value);
    if (does === 'append') return state.with(value);
    return told === undefined || told.value === state.text ? state : undefined;
  };
  return { label: `${does} ${value}`, invokedMs, returnedMs, step };
}

function isTextLinearizable(calls: readonly Whole[]) {
  const empty = new Text('');
  const numbers = new Map<Text, string>();
  const numberOf = (text: Text) => {
    const number = numbers.get(text) ?? String(numbers.size);
    numbers.set(text, number);
    return number;
  };
  const operations = calls.map((call) => textCall(empty, call));
  return isLinearizable(operations, empty, numberOf);
}

function judge({ name, lines }: History) {
  if (name.startsWith('etcd')) {
    const calls = callsOf(etcdEvents(lines)).flatMap((call) => registerCall(call) ?? []);
    return isLinearizable<Register>(calls, null, String);
  }
  const calls = callsOf(textEvents(lines));
  const keys = [...new Set(calls.map(({ asked }) => asked.key))];
  const verdicts = keys.map((key) =>
    isTextLinearizable(calls.filter(({ asked }) => asked.key === key)),
  );
  return verdicts.find((verdict) => verdict !== 'yes') ?? 'yes';
}

describe('histories that others have judged', () => {
  const all = histories();

  test('are there', () => {
    const etcd = all.filter(({ name }) => name.startsWith('etcd'));
    expect(etcd).toHaveLength(102);
    expect(etcd.filter(({ wanted }) => wanted === 'yes')).toHaveLength(23);
    expect(all).toHaveLength(108);
  });

  test.each(all.slice(0, scale.publicHistories))('$name: $wanted', (history) => {
    expect(judge(history)).toBe(history.wanted);
  });
});

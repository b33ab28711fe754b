/**
 * What the commands of a history do to a handful of keys: strings, counters, lists and sets, as
 * Redis does. Pure; states are never changed. It knows only commands whose effect their words
 * decide, so SPOP is not among them.
 */

/** A set's members are in order. */
export type Value =
  | { readonly type: 'string'; readonly text: string }
  | { readonly type: 'list'; readonly items: readonly string[] }
  | { readonly type: 'set'; readonly items: readonly string[] };

/** Status replies and texts are texts; an error is one that begins with `-`. */
export type Reply = string | number | null | readonly Reply[];

export class Keyspace {
  readonly #values: ReadonlyMap<string, Value>;
  #text: string | undefined;

  constructor(values: ReadonlyMap<string, Value> = new Map()) {
    this.#values = values;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  /** Without a value, or with an empty collection, the key is gone. */
  with(key: string, value: Value | undefined): Keyspace {
    const values = new Map(this.#values);
    if (value === undefined || (value.type !== 'string' && value.items.length === 0)) {
      values.delete(key);
    } else values.set(key, value);
    return new Keyspace(values);
  }

  /** The same for equal states, and only for those. */
  get text(): string {
    this.#text ??= [...this.#values]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => {
        const inside = value.type === 'string' ? value.text : value.items.join(' ');
        return `${key}=${value.type[0]}${inside}`;
      })
      .join('; ');
    return this.#text;
  }
}

export interface Ran {
  readonly state: Keyspace;
  readonly reply: Reply;
}

const WRONG_TYPE = '-WRONGTYPE';
const NO_NUMBER = '-ERR value is not an integer or out of range';

type Run = (state: Keyspace, key: string, rest: readonly string[]) => Ran;

/** Throws for a command that it does not know. */
export function runCommand(state: Keyspace, words: readonly string[]): Ran {
  const [name = '', key = '', ...rest] = words;
  const run = commands[name.toUpperCase()];
  if (run === undefined) throw new Error(`no model of ${name}`);
  return run(state, key, rest);
}

export const isModelled = (name: string): boolean => name.toUpperCase() in commands;

/** All of them, in one step. */
export function runTransaction(state: Keyspace, lines: readonly (readonly string[])[]): Ran {
  const replies: Reply[] = [];
  let now = state;
  for (const line of lines) {
    const ran = runCommand(now, line);
    now = ran.state;
    replies.push(ran.reply);
  }
  return { state: now, reply: replies };
}

const same = (state: Keyspace, reply: Reply): Ran => ({ state, reply });
const textOf = (value: Value | undefined): string | null =>
  value?.type === 'string' ? value.text : null;

function withText(state: Keyspace, key: string, text: string, reply: Reply): Ran {
  return { state: state.with(key, { type: 'string', text }), reply };
}

/** SET key value [NX | XX] [GET] [PX ms]: a deadline is an operation of its own, see `deadlines`. */
function set(state: Keyspace, key: string, [text = '', ...flags]: readonly string[]): Ran {
  const value = state.get(key);
  const upper = flags.map((flag) => flag.toUpperCase());
  const get = upper.includes('GET');
  if (get && value !== undefined && value.type !== 'string') return same(state, WRONG_TYPE);
  const refused =
    (upper.includes('NX') && value !== undefined) || (upper.includes('XX') && value === undefined);
  if (refused) return same(state, get ? textOf(value) : null);
  return withText(state, key, text, get ? textOf(value) : 'OK');
}

function add(by: (rest: readonly string[]) => number): Run {
  return (state, key, rest) => {
    const value = state.get(key);
    if (value !== undefined && value.type !== 'string') return same(state, WRONG_TYPE);
    const was = value === undefined ? 0 : Number(value.text);
    if (!Number.isSafeInteger(was)) return same(state, NO_NUMBER);
    const next = was + by(rest);
    return withText(state, key, String(next), next);
  };
}

function collection(
  type: 'list' | 'set',
  run: (items: readonly string[], rest: readonly string[]) => readonly [readonly string[], Reply],
): Run {
  return (state, key, rest) => {
    const value = state.get(key);
    if (value !== undefined && value.type !== type) return same(state, WRONG_TYPE);
    const items = value === undefined ? [] : (value as { items: readonly string[] }).items;
    const [next, reply] = run(items, rest);
    return next === items
      ? same(state, reply)
      : { state: state.with(key, { type, items: next }), reply };
  };
}

const list = (run: Parameters<typeof collection>[1]) => collection('list', run);
const ofSet = (run: Parameters<typeof collection>[1]) => collection('set', run);

const sorted = (items: Iterable<string>) => [...items].sort();

/** A blocking pop of one key: its reply names the key. */
function blocking(pop: (items: readonly string[]) => readonly [readonly string[], string]): Run {
  return (state, key) => {
    const value = state.get(key);
    if (value === undefined) return same(state, null);
    if (value.type !== 'list') return same(state, WRONG_TYPE);
    const [items, item] = pop(value.items);
    return { state: state.with(key, { type: 'list', items }), reply: [key, item] };
  };
}

const fromHead = (items: readonly string[]) => [items.slice(1), items[0]!] as const;
const fromTail = (items: readonly string[]) => [items.slice(0, -1), items.at(-1)!] as const;

function range(items: readonly string[], [from, to]: readonly string[]): readonly string[] {
  const place = (text: string | undefined) => {
    const at = Number(text);
    return at < 0 ? Math.max(0, items.length + at) : at;
  };
  return items.slice(place(from), place(to) + 1);
}

const commands: Readonly<Record<string, Run>> = {
  GET: (state, key) => {
    const value = state.get(key);
    return same(state, value === undefined || value.type === 'string' ? textOf(value) : WRONG_TYPE);
  },
  SET: set,
  SETNX: (state, key, [text = '']) =>
    state.get(key) === undefined ? withText(state, key, text, 1) : same(state, 0),
  GETSET: (state, key, [text = '']) => set(state, key, [text, 'GET']),
  GETDEL: (state, key) => ({ state: state.with(key, undefined), reply: textOf(state.get(key)) }),
  DEL: (state, key) =>
    state.get(key) === undefined ? same(state, 0) : { state: state.with(key, undefined), reply: 1 },
  EXISTS: (state, key) => same(state, state.get(key) === undefined ? 0 : 1),
  APPEND: (state, key, [text = '']) => {
    const value = state.get(key);
    if (value !== undefined && value.type !== 'string') return same(state, WRONG_TYPE);
    const next = (value?.text ?? '') + text;
    return withText(state, key, next, Buffer.byteLength(next));
  },
  INCR: add(() => 1),
  DECR: add(() => -1),
  INCRBY: add(([by]) => Number(by)),
  RPUSH: list((items, added) => [[...items, ...added], items.length + added.length]),
  LPUSH: list((items, added) => [[...[...added].reverse(), ...items], items.length + added.length]),
  LPOP: list((items) => (items.length === 0 ? [items, null] : fromHead(items))),
  RPOP: list((items) => (items.length === 0 ? [items, null] : fromTail(items))),
  LLEN: list((items) => [items, items.length]),
  LRANGE: list((items, rest) => [items, range(items, rest)]),
  BLPOP: blocking(fromHead),
  BRPOP: blocking(fromTail),
  SADD: ofSet((items, added) => {
    const fresh = new Set(added.filter((one) => !items.includes(one)));
    return fresh.size === 0 ? [items, 0] : [sorted([...items, ...fresh]), fresh.size];
  }),
  SREM: ofSet((items, gone) => {
    const left = items.filter((one) => !gone.includes(one));
    return left.length === items.length ? [items, 0] : [left, items.length - left.length];
  }),
  SISMEMBER: ofSet((items, [one = '']) => [items, items.includes(one) ? 1 : 0]),
  SCARD: ofSet((items) => [items, items.length]),
  SMEMBERS: ofSet((items) => [items, items]),
};

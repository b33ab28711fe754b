/**
 * What the commands of a history do to a handful of keys: strings, counters, lists and sets, as
 * Redis does. Pure; states are never changed. Which members SPOP takes the server draws: what it
 * told decides, and where nothing is known every choice is a call of its own (`choices`).
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
  /** Calls with several ways to take effect that have taken one of them. */
  readonly #settled: ReadonlySet<number>;
  #text: string | undefined;

  constructor(
    values: ReadonlyMap<string, Value> = new Map(),
    settled: ReadonlySet<number> = new Set(),
  ) {
    this.#values = values;
    this.#settled = settled;
  }

  isSettled(call: number): boolean {
    return this.#settled.has(call);
  }

  settled(call: number): Keyspace {
    return new Keyspace(this.#values, new Set([...this.#settled, call]));
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
    return new Keyspace(values, this.#settled);
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
    if (this.#settled.size > 0) {
      this.#text += ` settled ${[...this.#settled].sort((a, b) => a - b).join(' ')}`;
    }
    return this.#text;
  }
}

export interface Ran {
  readonly state: Keyspace;
  readonly reply: Reply;
}

const WRONG_TYPE = '-WRONGTYPE';
const NO_NUMBER = '-ERR value is not an integer or out of range';

/** `told`: the server's answer, if it is known; only commands that draw look at it. */
type Run = (state: Keyspace, key: string, rest: readonly string[], told?: Reply) => Ran;

/**
 * Throws for a command that it does not know. Where the server draws, `told` is the reply if the
 * state allows it; without it the first of all draws is taken.
 */
export function runCommand(state: Keyspace, words: readonly string[], told?: Reply): Ran {
  const [name = '', key = '', ...rest] = words;
  const run = commands[name.toUpperCase()];
  if (run === undefined) throw new Error(`no model of ${name}`);
  return run(state, key, rest, told);
}

export const isModelled = (name: string): boolean => name.toUpperCase() in commands;

/** All of them, in one step. */
export function runTransaction(
  state: Keyspace,
  lines: readonly (readonly string[])[],
  told?: Reply,
): Ran {
  const replies: Reply[] = [];
  let now = state;
  for (const [at, line] of lines.entries()) {
    const ran = runCommand(now, line, Array.isArray(told) ? (told as Reply[])[at] : undefined);
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
  run: (
    items: readonly string[],
    rest: readonly string[],
    told?: Reply,
  ) => readonly [readonly string[], Reply],
): Run {
  return (state, key, rest, told) => {
    const value = state.get(key);
    if (value !== undefined && value.type !== type) return same(state, WRONG_TYPE);
    const items = value === undefined ? [] : (value as { items: readonly string[] }).items;
    const [next, reply] = run(items, rest, told);
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

/** Members that a server may draw of the set, in any order: as many as asked for, each once. */
function isDraw(items: readonly string[], drawn: readonly Reply[], count: number): boolean {
  const distinct = new Set(drawn);
  if (distinct.size !== drawn.length || drawn.length !== Math.min(count, items.length))
    return false;
  return drawn.every((one) => items.includes(one as string));
}

/** SPOP key [count]: a set's members are few, so a text is compared with all of them. */
const spop = ofSet((items, [count], told) => {
  if (count === undefined) {
    const one = typeof told === 'string' && items.includes(told) ? told : (items[0] ?? null);
    return one === null ? [items, null] : [items.filter((other) => other !== one), one];
  }
  const asked = Number(count);
  const said = Array.isArray(told) ? (told as readonly string[]) : [];
  const gone = isDraw(items, said, asked) ? said : items.slice(0, asked);
  if (gone.length === 0) return [items, []];
  return [items.filter((one) => !gone.includes(one)), gone];
});

/** SRANDMEMBER key [count]: a negative count draws one as often as it likes. */
const srandmember = ofSet((items, [count], told) => {
  if (count === undefined) {
    return [items, typeof told === 'string' && items.includes(told) ? told : (items[0] ?? null)];
  }
  const asked = Number(count);
  const said = Array.isArray(told) ? (told as readonly string[]) : [];
  const again = Array.from({ length: items.length === 0 ? 0 : -asked }, () => items[0]!);
  if (asked >= 0) return [items, isDraw(items, said, asked) ? said : items.slice(0, asked)];
  const fits = said.length === again.length && said.every((one) => items.includes(one));
  return [items, fits ? said : again];
});

/** More ways than this to take effect are too many to try. */
const CHOICES_MAX = 256;

/**
 * What a server may have told of commands that draw, when its answer is not known: for each line
 * every choice of `members`, those that a set may have had; undefined when nothing is drawn.
 */
export function choices(
  lines: readonly (readonly string[])[],
  members: (key: string) => readonly string[],
): readonly (readonly Reply[])[] | undefined {
  if (!lines.some(([name = '']) => name.toUpperCase() === 'SPOP')) return undefined;
  let all: Reply[][] = [[]];
  for (const [name = '', key = '', count] of lines) {
    const told: readonly Reply[] =
      name.toUpperCase() === 'SPOP' ? drawsOf(members(key), count) : [null];
    all = all.flatMap((some) => told.map((one) => [...some, one]));
    if (all.length > CHOICES_MAX)
      throw new Error(`SPOP of ${key}: too many members to choose from`);
  }
  return all;
}

function drawsOf(members: readonly string[], count: string | undefined): readonly Reply[] {
  if (count === undefined) return [...members, null];
  let subsets: string[][] = [[]];
  for (const one of members) {
    const more = subsets.filter((some) => some.length < Number(count));
    subsets = [...subsets, ...more.map((some) => [...some, one])];
    if (subsets.length > CHOICES_MAX) break;
  }
  return subsets;
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
  SPOP: spop,
  SRANDMEMBER: srandmember,
};

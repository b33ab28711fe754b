/**
 * The arguments of a command as COMMAND DOCS tells them (redis-cli's hints come from there), read
 * from one line of syntax per command (`command-syntax.ts`). The line's language:
 *
 * - `name` or `name:type` is an argument; without a type the name tells it (`typesByName`).
 * - `WORD` is typed as it is. `(WORD a)` is an argument with a word before it.
 * - `(a b)` belong together, `[a b]` may be left out, `|` separates what excludes each other.
 * - `x+` may be repeated, `[x]*` is left out or repeated; in `[WORD x]*` the word is repeated as well.
 * - `name=` before a bracket names what it holds.
 * - `'*'` is typed as it is as well, for what is no word; `name=` before it is the argument's name.
 */
import { assert } from '../../../common/assert.ts';

export type ArgumentType =
  | 'string'
  | 'integer'
  | 'double'
  | 'key'
  | 'pattern'
  | 'unix-time'
  | 'pure-token'
  | 'oneof'
  | 'block';

export interface Argument {
  readonly name: string;
  readonly type: ArgumentType;
  readonly token: string | undefined;
  readonly optional: boolean;
  readonly multiple: boolean;
  /** When it is repeated, so is the word before it. */
  readonly tokenRepeats: boolean;
  /** Of `oneof` and `block`. */
  readonly parts: readonly Argument[];
}

const typesByName: ReadonlyMap<string, ArgumentType> = new Map(
  Object.entries({
    key: 'key source destination key1 key2 newkey destkey sourcekey',
    pattern: 'pattern',
    double: 'score longitude latitude radius width height weight seconds-and-more',
    'unix-time': 'unix-time-seconds unix-time-milliseconds',
    integer:
      'count numkeys start stop end index offset limit seconds milliseconds cursor rank ' +
      'increment decrement numfields length port slot numreplicas numlocal timeout-ms bits ' +
      'client-id protover frequency bit samples min-match-len',
  }).flatMap(([type, names]) =>
    names.split(' ').map((name) => [name, type as ArgumentType] as const),
  ),
);

const LEAF = /^[a-z][a-z0-9-]*(?::[a-z-]+)?$/;
const WORDS = /[a-z][a-z-]*=(?=[(['])|'[^']+'|[()[\]|]|[+*]|[^\s()[\]|+*]+/g;
const QUOTED = /^'(.+)'$/;

/** Throws for a line that is not of the language: the table is wrong. */
export function parseSyntax(line: string): readonly Argument[] {
  const reader = new SyntaxReader(line);
  const found = reader.sequence();
  reader.expectEnd();
  return found;
}

const leaf = {
  ...{ token: undefined, optional: false, multiple: false, tokenRepeats: false },
  parts: [],
};

class SyntaxReader {
  readonly #line: string;
  readonly #words: readonly string[];
  #at = 0;

  constructor(line: string) {
    this.#line = line;
    this.#words = line.match(WORDS) ?? [];
  }

  expectEnd(): void {
    assert(this.#at === this.#words.length, () => `syntax ends early: ${this.#line}`);
  }

  sequence(): Argument[] {
    const found: Argument[] = [];
    for (;;) {
      const word = this.#words[this.#at];
      if (word === undefined || word === ')' || word === ']' || word === '|') return found;
      found.push(this.#item(word));
    }
  }

  #item(word: string): Argument {
    this.#at++;
    if (word.endsWith('='))
      return { ...this.#item(this.#words[this.#at]!), name: word.slice(0, -1) };
    const item =
      word === '(' || word === '[' ? this.#group(word === '[') : oneWord(word, this.#line);
    const suffix = this.#words[this.#at];
    if (suffix !== '+' && suffix !== '*') return item;
    this.#at++;
    return { ...item, multiple: true, tokenRepeats: suffix === '*' && item.token !== undefined };
  }

  #group(optional: boolean): Argument {
    const choices = [grouped(this.sequence(), this.#line)];
    while (this.#words[this.#at] === '|') {
      this.#at++;
      choices.push(grouped(this.sequence(), this.#line));
    }
    const close = this.#words[this.#at++];
    assert(close === (optional ? ']' : ')'), () => `bracket left open: ${this.#line}`);
    const [only, ...others] = choices;
    if (others.length === 0) return { ...only!, optional };
    return { ...leaf, name: 'choice', type: 'oneof', optional, parts: choices };
  }
}

function oneWord(word: string, line: string): Argument {
  const [, sign] = QUOTED.exec(word) ?? [];
  if (sign !== undefined) return { ...leaf, name: sign, type: 'pure-token', token: sign };
  if (!LEAF.test(word))
    return { ...leaf, name: word.toLowerCase(), type: 'pure-token', token: word };
  const [name = '', given] = word.split(':');
  const type = (given ?? typesByName.get(name) ?? 'string') as ArgumentType;
  assert(name !== '', () => `an argument has a name: ${line}`);
  return { ...leaf, name, type };
}

/** What stands between brackets, as one argument. */
function grouped(parts: readonly Argument[], line: string): Argument {
  const [first, second] = parts;
  assert(first !== undefined, () => `empty brackets: ${line}`);
  if (second === undefined) return first;
  if (first.type !== 'pure-token') return { ...leaf, name: 'group', type: 'block', parts };
  const { token } = first;
  if (parts.length === 2 && second.token === undefined && !second.optional) {
    return { ...second, token };
  }
  return { ...leaf, name: first.name, type: 'block', token, parts: parts.slice(1) };
}

/** How many words a request has at least, and whether it may have more. */
export function wordsOf(list: readonly Argument[]): {
  readonly least: number;
  readonly open: boolean;
} {
  let least = 0;
  let open = false;
  for (const argument of list) {
    const { type, token, optional, multiple, parts } = argument;
    const inner = type === 'oneof' ? parts.map((part) => wordsOf([part])) : [wordsOf(parts)];
    const own = type === 'oneof' || type === 'block' || type === 'pure-token' ? 0 : 1;
    const most = Math.max(...inner.map((one) => one.least));
    const fewest = Math.min(...inner.map((one) => one.least));
    if (!optional) least += own + (token === undefined ? 0 : 1) + fewest;
    open ||= optional || multiple || most !== fewest || inner.some((one) => one.open);
  }
  return { least, open };
}

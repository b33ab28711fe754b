/** Redis's letters of notify-keyspace-events: which events of keys are published, and where. */
import type { KeyEventClass } from '../../encoding/txn/view.ts';

/** In the order in which CONFIG GET prints them. */
const classLetters: readonly (readonly [letter: string, of: KeyEventClass])[] = [
  ['g', 'generic'],
  ['$', 'string'],
  ['l', 'list'],
  ['s', 'set'],
  ['h', 'hash'],
  ['z', 'zset'],
  ['x', 'expired'],
  ['e', 'evicted'],
  ['t', 'stream'],
  ['d', 'module'],
  ['n', 'new'],
  ['m', 'miss'],
];
/** `A` stands for all but these: they are many. */
const NOT_IN_ALL = 'nm';
const ALL = classLetters.filter(([letter]) => !NOT_IN_ALL.includes(letter));

export const NOTIFY_SETTING = 'notify-keyspace-events';
export const BAD_NOTIFY_FLAGS = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";

export interface NotifyFlags {
  /** To channels of keys: `__keyspace@0__:key`. */
  readonly keyspace: boolean;
  /** To channels of events: `__keyevent@0__:event`. */
  readonly keyevent: boolean;
  readonly classes: ReadonlySet<KeyEventClass>;
}

export const NO_EVENTS: NotifyFlags = { keyspace: false, keyevent: false, classes: new Set() };

/** Undefined for a letter that is none. */
export function parseNotifyFlags(text: string): NotifyFlags | undefined {
  const classes = new Set<KeyEventClass>();
  for (const letter of text) {
    const known = classLetters.find(([one]) => one === letter);
    if (known) classes.add(known[1]);
    else if (letter === 'A') for (const [, of] of ALL) classes.add(of);
    else if (letter !== 'K' && letter !== 'E') return undefined;
  }
  return { keyspace: text.includes('K'), keyevent: text.includes('E'), classes };
}

/** The one form of these flags. As in Redis, `n` is not shown beside `A`. */
export function formatNotifyFlags({ keyspace, keyevent, classes }: NotifyFlags): string {
  const all = ALL.every(([, of]) => classes.has(of));
  const shown = classLetters.filter(([letter, of]) => letter !== 'm' && classes.has(of));
  const letters = all ? 'A' : shown.map(([letter]) => letter).join('');
  return `${letters}${keyspace ? 'K' : ''}${keyevent ? 'E' : ''}${classes.has('miss') ? 'm' : ''}`;
}

/**
 * A user and its rules, as ACL SETUSER takes and ACL LIST shows them; pure. Text is latin1: a
 * character is a byte, so patterns may hold any. Passwords are kept as SHA-256 only.
 */
import { createHash } from 'node:crypto';
import type { Namespace } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { aclCategories } from '../commands/docs/command-docs.ts';
import { shownText } from '../commands/rows/args.ts';
import { commandTable } from '../commands/table/table.ts';
import { absentCommands } from './absent-commands.ts';

export interface KeyPattern {
  readonly pattern: string;
  readonly read: boolean;
  readonly write: boolean;
}

/** `what`: a command, `command|subcommand`, `command|first argument`, or `@category`. */
export interface CommandRule {
  readonly allow: boolean;
  readonly what: string;
}

export interface Selector {
  readonly keys: 'all' | readonly KeyPattern[];
  readonly channels: 'all' | readonly string[];
  /** Of commands that no rule names. */
  readonly allCommands: boolean;
  /** The last that fits decides. */
  readonly rules: readonly CommandRule[];
}

export interface User {
  readonly name: string;
  readonly enabled: boolean;
  readonly noPassword: boolean;
  /** 64 lower-case hex digits each. */
  readonly passwords: readonly string[];
  /** The only one it may use; undefined: all. */
  readonly namespace: Namespace | undefined;
  readonly root: Selector;
  readonly selectors: readonly Selector[];
}

const nothing: Selector = { keys: [], channels: [], allCommands: false, rules: [] };
const everything: Selector = { keys: 'all', channels: 'all', allCommands: true, rules: [] };

/** As ACL SETUSER makes one: it may not even log in. */
export function newUser(name: string): User {
  return {
    ...{ name, enabled: false, noPassword: false, passwords: [], namespace: undefined },
    ...{ root: nothing, selectors: [] },
  };
}

/** The default user as long as nobody has changed it: everybody is it, and may do everything. */
export const openUser: User = {
  ...newUser('default'),
  enabled: true,
  noPassword: true,
  root: everything,
};

export function hashPassword(password: Buffer): string {
  return createHash('sha256').update(password).digest('hex');
}

const SYNTAX = 'Syntax error';
const UNKNOWN = 'Unknown command or category name in ACL';
const PATTERN_AFTER_ALL =
  "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have " +
  "any effect. Try 'resetkeys' to start with an empty list of patterns";
const CHANNEL_AFTER_ALL =
  "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not " +
  "have any effect. Try 'resetchannels' to start with an empty list of channels";
const NO_SUCH_PASSWORD = 'The password you are trying to remove from the user does not exist';
const BAD_HASH =
  'The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters';
const BAD_NAMESPACE = 'A namespace has a name without spaces';
const NO_FIRST_ARGUMENT = 'Allowing first-arg of a subcommand is not supported';

export interface ParseOptions {
  /** For stored rules: another build's commands may not be known here; they mean nothing then. */
  readonly unknownCommands: boolean;
}

const strict: ParseOptions = { unknownCommands: false };

/** The user after the rules, all of them; or Redis's text of what is wrong with one. */
export function changeUser(
  user: User,
  rules: readonly string[],
  options: ParseOptions = strict,
): User | string {
  const merged = mergeSelectors(rules);
  if (typeof merged === 'string') return merged;
  let changed = user;
  for (const rule of merged) {
    const next = applyRule(changed, rule, options);
    if (typeof next === 'string') {
      return `ERR Error in ACL SETUSER modifier '${shown(rule)}': ${next}`;
    }
    changed = next;
  }
  return changed;
}

const SHOWN_CHARACTERS_MAX = 128;

/** Errors are text; what is no UTF-8 in it is shown as U+FFFD. */
function shown(latin1: string): string {
  return shownText(Buffer.from(latin1.slice(0, SHOWN_CHARACTERS_MAX), 'latin1'));
}

/** Of ASCII alone, as Redis compares: other bytes are no letters. */
export function lowerCase(latin1: string): string {
  return latin1.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** `(~a`, `+get)` are one rule: `(~a +get)`. */
function mergeSelectors(rules: readonly string[]): string[] | string {
  const merged: string[] = [];
  let open: string | undefined;
  let first = '';
  for (const rule of rules) {
    if (open === undefined && !rule.startsWith('(')) {
      merged.push(rule);
      continue;
    }
    if (open === undefined) first = rule;
    open = open === undefined ? rule : `${open} ${rule}`;
    if (!rule.endsWith(')')) continue;
    merged.push(open);
    open = undefined;
  }
  if (open === undefined) return merged;
  return `ERR Unmatched parenthesis in acl selector starting at '${shown(first)}'.`;
}

function applyRule(user: User, rule: string, options: ParseOptions): User | string {
  switch (rule.toLowerCase()) {
    case 'on':
      return { ...user, enabled: true };
    case 'off':
      return { ...user, enabled: false };
    case 'nopass':
      return { ...user, noPassword: true, passwords: [] };
    case 'resetpass':
      return { ...user, noPassword: false, passwords: [] };
    case 'reset':
      return newUser(user.name);
    case 'clearselectors':
      return { ...user, selectors: [] };
    case 'allnamespaces':
      return { ...user, namespace: undefined };
    case 'sanitize-payload':
    case 'skip-sanitize-payload':
      return user;
    default:
  }
  if (/^namespace=/i.test(rule)) return applyNamespace(user, rule.slice('namespace='.length));
  if (/^[>#<!]/.test(rule)) return applyPassword(user, rule[0]!, rule.slice(1));
  if (rule.startsWith('(')) {
    const selector = parseSelector(rule.slice(1, -1), options);
    if (typeof selector === 'string') return selector;
    return { ...user, selectors: [...user.selectors, selector] };
  }
  const root = applySelectorRule(user.root, rule, options);
  return typeof root === 'string' ? root : { ...user, root };
}

/** `namespace=name`: our own rule. A connection of such a user begins there and stays there. */
function applyNamespace(user: User, namespace: string): User | string {
  const fits = namespace.length <= limits.aclNameMax && /^[\x21-\x7e]+$/.test(namespace);
  return fits ? { ...user, namespace } : BAD_NAMESPACE;
}

function applyPassword(user: User, kind: string, text: string): User | string {
  const isHash = kind === '#' || kind === '!';
  if (isHash && !/^[0-9a-f]{64}$/.test(text)) return BAD_HASH;
  const hash = isHash ? text : hashPassword(Buffer.from(text, 'latin1'));
  const others = user.passwords.filter((known) => known !== hash);
  if (kind === '>' || kind === '#') {
    return { ...user, noPassword: false, passwords: [...others, hash] };
  }
  if (others.length === user.passwords.length) return NO_SUCH_PASSWORD;
  return { ...user, passwords: others };
}

function parseSelector(text: string, options: ParseOptions): Selector | string {
  let selector = nothing;
  for (const rule of text.split(' ').filter((word) => word !== '')) {
    const next = applySelectorRule(selector, rule, options);
    if (typeof next === 'string') return next;
    selector = next;
  }
  return selector;
}

function applySelectorRule(
  selector: Selector,
  rule: string,
  options: ParseOptions,
): Selector | string {
  switch (rule.toLowerCase()) {
    case 'allkeys':
    case '~*':
      return { ...selector, keys: 'all' };
    case 'resetkeys':
      return { ...selector, keys: [] };
    case 'allchannels':
    case '&*':
      return { ...selector, channels: 'all' };
    case 'resetchannels':
      return { ...selector, channels: [] };
    case 'allcommands':
    case '+@all':
      return { ...selector, allCommands: true, rules: [] };
    case 'nocommands':
    case '-@all':
      return { ...selector, allCommands: false, rules: [] };
    default:
  }
  if (/^[~%]/.test(rule)) return applyKeyPattern(selector, rule);
  if (rule.startsWith('&')) return applyChannel(selector, rule.slice(1));
  if (/^[+-]/.test(rule)) return applyCommand(selector, rule, options);
  return SYNTAX;
}

/** `~pattern`, `%R~pattern`, `%W~pattern`, `%RW~pattern` */
function applyKeyPattern(selector: Selector, rule: string): Selector | string {
  if (selector.keys === 'all') return PATTERN_AFTER_ALL;
  const parts = /^(?:~|%(RW?|WR?)~)([^ \0]*)$/i.exec(rule);
  if (parts === null) return SYNTAX;
  const access = parts[1]?.toLowerCase() ?? 'rw';
  const pattern = parts[2]!;
  const read = access.includes('r');
  const write = access.includes('w');
  const before = selector.keys.find((known) => known.pattern === pattern);
  const others = selector.keys.filter((known) => known !== before);
  const both = {
    pattern,
    read: read || before?.read === true,
    write: write || before?.write === true,
  };
  // also when two rules come to that: it is stored as one, and nothing may follow it there
  if (pattern === '*' && both.read && both.write) return { ...selector, keys: 'all' };
  return { ...selector, keys: [...others, both] };
}

function applyChannel(selector: Selector, pattern: string): Selector | string {
  if (selector.channels === 'all') return CHANNEL_AFTER_ALL;
  if (/[ \0]/.test(pattern)) return SYNTAX;
  const others = selector.channels.filter((known) => known !== pattern);
  return { ...selector, channels: [...others, pattern] };
}

function applyCommand(selector: Selector, rule: string, options: ParseOptions): Selector | string {
  const allow = rule.startsWith('+');
  const what = lowerCase(rule.slice(1));
  const problem = commandProblem(what, allow);
  if (problem !== undefined && !(options.unknownCommands && problem === UNKNOWN)) return problem;
  // a first argument may be anything there; here rules are stored with spaces between them
  if (/[ \0]/.test(what)) return SYNTAX;
  const rules = selector.rules.filter(
    (known) => known.what !== what && !known.what.startsWith(`${what}|`),
  );
  return { ...selector, rules: [...rules, { allow, what }] };
}

function commandProblem(what: string, allow: boolean): string | undefined {
  if (absentCommands.has(what)) return undefined;
  if (what.startsWith('@')) return aclCategories.includes(what.slice(1)) ? undefined : UNKNOWN;
  const [name = '', second, third] = what.split('|');
  const command = commandTable.get(name);
  if (command === undefined) return UNKNOWN;
  if (second === '') return allow && third === undefined ? SYNTAX : UNKNOWN;
  if (second === undefined) return undefined;
  if (command.subcommands === undefined) {
    return third === undefined && allow ? undefined : UNKNOWN;
  }
  const isKnown = command.subcommands.some((row) => row.name === `${name}|${second}`);
  // in Redis it has no subcommands: its first arguments are allowed, whatever they are
  if (!isKnown) return name === 'debug' && allow && third === undefined ? undefined : UNKNOWN;
  if (third === undefined) return undefined;
  return allow ? NO_FIRST_ARGUMENT : UNKNOWN;
}

/** The rules that make this user from a new one; also the form in which it is stored. */
export function describeUser(user: User): string {
  const { enabled, noPassword, passwords, namespace, root, selectors } = user;
  return [
    enabled ? 'on' : 'off',
    ...(noPassword ? ['nopass'] : []),
    ...passwords.map((hash) => `#${hash}`),
    ...(namespace === undefined ? [] : [`namespace=${namespace}`]),
    describeSelector(root),
    ...selectors.map((selector) => `(${describeSelector(selector)})`),
  ].join(' ');
}

export function describeKeys({ keys }: Selector): string {
  if (keys === 'all') return '~*';
  return keys
    .map(({ pattern, read, write }) => {
      const access = read && write ? '' : read ? '%R' : '%W';
      return `${access}~${pattern}`;
    })
    .join(' ');
}

export function describeChannels({ channels }: Selector): string {
  return channels === 'all' ? '&*' : channels.map((pattern) => `&${pattern}`).join(' ');
}

export function describeCommands({ allCommands, rules }: Selector): string {
  const words = rules.map(({ allow, what }) => `${allow ? '+' : '-'}${what}`);
  return [allCommands ? '+@all' : '-@all', ...words].join(' ');
}

function describeSelector(selector: Selector): string {
  const channels = describeChannels(selector);
  const reset = selector.channels === 'all' ? [] : ['resetchannels'];
  return [describeKeys(selector), ...reset, channels, describeCommands(selector)]
    .filter((text) => text !== '')
    .join(' ');
}

/** A user from its stored rules; undefined when they cannot be read. */
export function parseUser(name: string, rules: string): User | undefined {
  const user = changeUser(newUser(name), rules.split(' '), { unknownCommands: true });
  return typeof user === 'string' ? undefined : user;
}

/** Everybody is it without a password. */
export function isOpen({ enabled, noPassword }: User): boolean {
  return enabled && noPassword;
}

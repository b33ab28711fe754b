/** What a request of ZanRedisDB's clients asks for, in kvorum's words. Pure. */
import type { Namespace } from '../../common/ids.ts';
import type { Command, NodeCommand, ReadCommand, WriteCommand } from '../commands/rows/command.ts';
import { findCommand, resolveCommand } from '../commands/table/table.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { splitKey, splitTable } from './key.ts';
import { nodeCommands, type TableScan, tableScans, translations } from './names.ts';
import { INVALID_ARGUMENTS, INVALID_COMMAND } from './refusals.ts';

export type DataCommand = ReadCommand | WriteCommand;

export interface KeyedRequest {
  readonly kind: 'keyed';
  readonly command: DataCommand;
  readonly namespace: Namespace;
  /** As the command's row takes it: keys without their namespace. */
  readonly line: CommandLine;
}

export interface ScanRequest {
  readonly kind: 'scan';
  readonly command: DataCommand;
  readonly namespace: Namespace;
  readonly cursor: Buffer;
  readonly count: number;
  /** What each partition is asked for keys behind `place`. */
  readonly lineFrom: (place: Buffer, count: number) => CommandLine;
}

export type ZanRequest =
  | { readonly kind: 'node'; readonly command: NodeCommand }
  | KeyedRequest
  | ScanRequest
  | { readonly kind: 'wrong'; readonly text: string };

export function parseRequest(args: CommandLine): ZanRequest {
  const name = args[0]!.toString('latin1', 0, 64).toLowerCase();
  if (nodeCommands.has(name)) {
    const command = resolveCommand(args);
    return command?.kind === 'node' ? { kind: 'node', command } : wrong(INVALID_COMMAND);
  }
  const scan = tableScans.get(name);
  if (scan !== undefined) return parseTableScan(args, scan);
  const translation = translations.get(name);
  if (translation === undefined) return keyed(args, findCommand(args[0]!));
  const { arity, line } = translation;
  if (arity > 0 ? args.length !== arity : args.length < -arity) return wrongCount(name);
  const translated = line(args);
  return keyed(translated, findCommand(translated[0]!));
}

function wrong(text: string): ZanRequest {
  return { kind: 'wrong', text };
}

function wrongCount(name: string): ZanRequest {
  return wrong(`ERR wrong number of arguments for '${name}' command`);
}

/**
 * Commands whose keys stand at fixed places, all of them: others would be looked up under names that
 * these clients' keys do not have (SORT's BY and GET). None that waits.
 */
function keyed(args: CommandLine, command: Command | undefined): ZanRequest {
  if (command === undefined || command.kind === 'node') return wrong(INVALID_COMMAND);
  const { keys, keysOf, subcommands, flags } = command;
  const waits = command.kind === 'write' && command.blocking !== undefined;
  const moves = keysOf !== undefined || flags.includes('movablekeys');
  // theirs have other paths, which would be taken for these
  const isJson = command.group === 'json';
  if (keys.first === 0 || moves || subcommands !== undefined || waits || isJson) {
    return wrong(INVALID_COMMAND);
  }
  if (args.length <= keys.first) return wrongCount(command.name);
  const line = [...args];
  let namespace: Namespace | undefined;
  const end = keys.last < 0 ? args.length + keys.last : keys.last;
  for (let at = keys.first; at <= end && at < args.length; at += keys.step) {
    const split = splitKey(args[at]!);
    if (typeof split === 'string') return wrong(split);
    if (namespace !== undefined && split.namespace !== namespace) return wrong(INVALID_ARGUMENTS);
    namespace = split.namespace;
    line[at] = split.key;
  }
  return { kind: 'keyed', command, namespace: namespace!, line };
}

const COUNT = 100;
const COUNT_MAX = 5_000;
const types = new Set(['kv', 'hash', 'list', 'set', 'zset']);
const KV = Buffer.from('KV');
const REV = Buffer.from('REV');

/** `advscan namespace:table:cursor TYPE [MATCH pattern] [COUNT count]` */
function parseTableScan(args: CommandLine, { row, reverse, typed }: TableScan): ZanRequest {
  const [name, at, ...rest] = args;
  if (at === undefined) return wrongCount(name!.toString('latin1'));
  const split = splitTable(at);
  if (typeof split === 'string') return wrong(split);
  const isTyped = types.has(wordOf(rest[0]));
  if (!isTyped && typed === 'always') return wrong(INVALID_ARGUMENTS);
  const type = isTyped ? rest.shift()! : KV;
  const options: Buffer[] = reverse ? [REV] : [];
  let count = COUNT;
  for (let option = 0; option < rest.length; option += 2) {
    const value = rest[option + 1];
    const word = wordOf(rest[option]);
    if (value === undefined) return wrong(INVALID_ARGUMENTS);
    if (word === 'match') options.push(rest[option]!, value);
    else if (word === 'count' && /^\d{1,9}$/.test(value.toString('latin1'))) count = Number(value);
    else return wrong(INVALID_ARGUMENTS);
  }
  const head = [Buffer.from(row), type, split.table];
  const command = findCommand(head[0]!) as DataCommand;
  return {
    kind: 'scan',
    command,
    namespace: split.namespace,
    cursor: split.cursor,
    count: Math.min(count === 0 ? COUNT : count, COUNT_MAX),
    lineFrom: (place, left) => [
      ...head,
      place,
      ...options,
      Buffer.from('COUNT'),
      Buffer.from(String(left)),
    ],
  };
}

function wordOf(arg: Buffer | undefined): string {
  return arg === undefined || arg.length > 16 ? '' : arg.toString('latin1').toLowerCase();
}

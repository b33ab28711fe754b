/**
 * ZanRedisDB's commands in kvorum's: each by the row of the command table that does the same, with
 * the arguments which that needs. What stands at the place of a key stays as the client wrote it. A
 * name that is not here means what it means to Redis. Pure.
 */
import type { CommandLine } from '../partition/entries/batch.ts';

export interface Translation {
  /** As a row's: n exactly, −n at least, the name counted. */
  readonly arity: number;
  readonly line: (args: CommandLine) => CommandLine;
}

const bytes = (text: string) => Buffer.from(text);

/** The same arguments behind these words. */
function behind(arity: number, ...words: readonly string[]): Translation {
  const head = words.map(bytes);
  return { arity, line: (args) => [...head, ...args.slice(1)] };
}

const EX = bytes('EX');
const ONE = bytes('1');
const REV = bytes('REV');
const EMPTY = Buffer.alloc(0);

/** `hscan key [cursor [MATCH pattern] [COUNT count]]`: no cursor is the empty one. */
function elements(type: string, ...more: readonly Buffer[]): Translation {
  const head = [bytes('ZAN.ELEMENTS'), bytes(type)];
  return {
    arity: -2,
    line: ([, key, cursor, ...options]) => [...head, key!, cursor ?? EMPTY, ...more, ...options],
  };
}

/** The commands that each type has of its own, by the letter that their names begin with. */
function ofType(letter: string, type: string): [name: string, translation: Translation][] {
  return [
    [`${letter}clear`, behind(2, 'ZAN.CLEAR', type)],
    [`${letter}keyexist`, behind(2, 'ZAN.EXISTS', type)],
    [`${letter}ttl`, behind(2, 'ZAN.TTL', type)],
    [`${letter}expire`, behind(3, 'ZAN.EXPIRE', type)],
    [`${letter}persist`, behind(2, 'ZAN.PERSIST', type)],
  ];
}

function scansOf(letter: string, type: string): [name: string, translation: Translation][] {
  return [
    [`${letter}scan`, elements(type)],
    [`${letter}revscan`, elements(type, REV)],
  ];
}

export const translations: ReadonlyMap<string, Translation> = new Map<string, Translation>([
  ['set', behind(-3, 'ZAN.SET')],
  [
    'setex',
    { arity: 4, line: ([, key, seconds, value]) => [bytes('ZAN.SET'), key!, value!, EX, seconds!] },
  ],
  ['del', behind(-2, 'ZAN.CLEAR', 'KV')],
  ['exists', behind(-2, 'ZAN.EXISTS', 'KV')],
  ['ttl', behind(2, 'ZAN.TTL', 'KV')],
  ['expire', behind(3, 'ZAN.EXPIRE', 'KV')],
  ['persist', behind(2, 'ZAN.PERSIST', 'KV')],
  ['getnolock', behind(2, 'GET')],
  // a read of the leader is as good as any that may be stale
  ['stale.get', behind(2, 'GET')],
  ['setbitv2', behind(4, 'SETBIT')],
  // bitmaps are strings
  ...ofType('b', 'KV').filter(([name]) => name !== 'bclear'),
  ['bitclear', behind(2, 'ZAN.CLEAR', 'KV')],
  ...ofType('h', 'HASH'),
  ...ofType('l', 'LIST'),
  ...ofType('s', 'SET'),
  ...ofType('z', 'ZSET'),
  ...scansOf('h', 'HASH'),
  ...scansOf('s', 'SET'),
  ...scansOf('z', 'ZSET'),
  // always an array
  [
    'srandmember',
    { arity: -2, line: ([name, key, count = ONE, ...more]) => [name!, key!, count, ...more] },
  ],
  // never with STORE
  ['georadius', behind(-6, 'GEORADIUS_RO')],
  ['georadiusbymember', behind(-5, 'GEORADIUSBYMEMBER_RO')],
]);

export interface TableScan {
  readonly row: 'ZAN.SCAN' | 'ZAN.FULLSCAN';
  readonly reverse: boolean;
  /** Without it, strings are scanned. */
  readonly typed: 'always' | 'perhaps';
}

/** Scans over the keys of a table, on all partitions of a node. */
export const tableScans: ReadonlyMap<string, TableScan> = new Map<string, TableScan>([
  ['scan', { row: 'ZAN.SCAN', reverse: false, typed: 'perhaps' }],
  ['revscan', { row: 'ZAN.SCAN', reverse: true, typed: 'perhaps' }],
  ['advscan', { row: 'ZAN.SCAN', reverse: false, typed: 'always' }],
  ['advrevscan', { row: 'ZAN.SCAN', reverse: true, typed: 'always' }],
  ['fullscan', { row: 'ZAN.FULLSCAN', reverse: false, typed: 'always' }],
]);

/** What is about the connection or the node, and means the same on every port. */
export const nodeCommands: ReadonlySet<string> = new Set([
  ...['ping', 'echo', 'auth', 'quit', 'info', 'hello', 'client', 'command', 'time'],
]);

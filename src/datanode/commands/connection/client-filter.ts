/** The words by which CLIENT LIST and CLIENT KILL choose clients. */
import { parseInteger } from '../../encoding/strings/string.ts';
import { isSubscribed } from '../pubsub/pubsub-port.ts';
import { argument, SYNTAX_ERROR, word } from '../rows/args.ts';
import type { Session } from '../rows/node-context.ts';
import { userOf } from './client-line.ts';

const CLIENT_TYPES = ['normal', 'master', 'replica', 'slave', 'pubsub'];

/** Replicas of partitions do not connect as clients. */
function typeOf({ subscriber }: Session): string {
  return isSubscribed(subscriber) ? 'pubsub' : 'normal';
}

export type SessionTest = (session: Session) => boolean;

/** What CLIENT LIST is to show; an error's text when the words are wrong. */
export function listFilter(args: readonly Buffer[]): SessionTest | string {
  if (args.length === 2) return () => true;
  const filter = word(argument(args, 2));
  if (filter === 'type' && args.length === 4) {
    const type = clientType(argument(args, 3));
    return type === undefined ? unknownType(argument(args, 3)) : (one) => typeOf(one) === type;
  }
  if (filter !== 'id' || args.length < 4) return SYNTAX_ERROR;
  const ids = new Set(args.slice(3).map((arg) => parseInteger(arg)));
  return ids.has(undefined) ? 'ERR Invalid client ID' : ({ id }) => ids.has(id);
}

function clientType(arg: Buffer): string | undefined {
  const type = word(arg);
  if (!CLIENT_TYPES.includes(type)) return undefined;
  return type === 'slave' ? 'replica' : type;
}

function unknownType(arg: Buffer): string {
  return `ERR Unknown client type '${arg.toString('utf8', 0, 128)}'`;
}

function clientId(arg: Buffer): number | undefined {
  const id = parseInteger(arg);
  return id !== undefined && id > 0 ? Number(id) : undefined;
}

export interface KillFilter {
  readonly skipMe: boolean;
  readonly matches: SessionTest;
}

/** Redis has it from 7.4 on. */
function olderThan(value: Buffer, nowMs: number): SessionTest | string {
  const seconds = parseInteger(value);
  if (seconds === undefined) return 'ERR maxage is not an integer or out of range';
  if (seconds <= 0) return 'ERR maxage should be greater than 0';
  const latestMs = nowMs - Number(seconds) * 1_000;
  return ({ connectedMs }) => connectedMs <= latestMs;
}

/** CLIENT KILL's pairs of words; `isUser`: there is a user of that name. */
export function killFilter(
  args: readonly Buffer[],
  isUser: (name: string) => boolean,
  nowMs: number,
): KillFilter | string {
  const tests: SessionTest[] = [];
  let skipMe = true;
  for (let at = 2; at < args.length; at += 2) {
    if (at + 1 >= args.length) return SYNTAX_ERROR;
    const name = word(argument(args, at));
    const value = argument(args, at + 1);
    if (name === 'skipme') {
      const answer = word(value);
      if (answer !== 'yes' && answer !== 'no') return SYNTAX_ERROR;
      skipMe = answer === 'yes';
      continue;
    }
    const test = name === 'maxage' ? olderThan(value, nowMs) : killTest(name, value, isUser);
    if (typeof test === 'string') return test;
    tests.push(test);
  }
  return { skipMe, matches: (session) => tests.every((test) => test(session)) };
}

function killTest(
  name: string,
  value: Buffer,
  isUser: (name: string) => boolean,
): SessionTest | string {
  const text = value.toString('utf8');
  switch (name) {
    case 'id': {
      const wanted = clientId(value);
      if (wanted === undefined) return 'ERR client-id should be greater than 0';
      return ({ id }) => id === wanted;
    }
    case 'addr':
      return ({ remote }) => remote === text;
    case 'laddr':
      return ({ local }) => local === text;
    case 'user':
      if (!isUser(text)) return `ERR No such user '${text.slice(0, 128)}'`;
      return (session) => userOf(session) === text;
    case 'type': {
      const type = clientType(value);
      return type === undefined ? unknownType(value) : (session) => typeOf(session) === type;
    }
    default:
      return SYNTAX_ERROR;
  }
}

/** Strings, booleans and objects in documents: JSON.STRAPPEND, STRLEN, TOGGLE, OBJKEYS, OBJLEN. */
import { JsonGrowth } from '../../encoding/json/json-growth.ts';
import { parseJson } from '../../encoding/json/json-parse.ts';
import { type Json, JsonError } from '../../encoding/json/json-value.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import { array, bulk, integer, NULL, type Reply } from '../../resp/reply.ts';
import { argument, wrongArity } from '../rows/args.ts';
import { type Command, read, write } from '../rows/command.ts';
import {
  type Changer,
  changing,
  column,
  jsonArgument,
  type Look,
  looking,
  NO_DOCUMENT,
  type PathRequest,
  parseKeyPath,
  pathOf,
  writing,
} from './json-run.ts';

interface AppendRequest extends PathRequest {
  readonly json: Buffer;
}

/** JSON.STRAPPEND key [path] value: the value is a JSON string */
function parseAppend(args: readonly Buffer[]): AppendRequest {
  if (args.length > 4) throw wrongArity('json.strappend');
  const json = jsonArgument(argument(args, args.length - 1));
  return { ...parseKeyPath(args.slice(0, -1)), json };
}

function* appender({ json }: AppendRequest): Slices<Changer> {
  const more = yield* parseJson(json);
  if (typeof more !== 'string') throw new JsonError('expected a JSON string to append');
  const growth = yield* JsonGrowth.of([more]);
  return (value) => {
    if (typeof value !== 'string') return undefined;
    growth.add();
    const longer = value + more;
    return { value: longer, reply: integer(Buffer.byteLength(longer)) };
  };
}

/** JSON.TOGGLE key path: 1 and 0 for a path with `$`, else the word. */
function toggler({ path }: PathRequest): Changer {
  return (value) => {
    if (typeof value !== 'boolean') return undefined;
    return { value: !value, reply: path.isLegacy ? bulk(String(!value)) : integer(value ? 0 : 1) };
  };
}

function parseToggle(args: readonly Buffer[]): PathRequest {
  return { key: argument(args, 1), path: pathOf(argument(args, 2)) };
}

/** `look` gives nothing for a value that is no such one. */
function lookingAt(look: Look, expected: string, noPath?: Reply) {
  const absence = { expected, noKey: NO_DOCUMENT, ...(noPath && { noPath }) };
  return looking<PathRequest>(() => look, absence);
}

function namesOf(value: Json): Reply | undefined {
  return value instanceof Map ? array(Array.from(value.keys(), bulk)) : undefined;
}

function countOf(value: Json): Reply | undefined {
  return value instanceof Map ? integer(value.size) : undefined;
}

function lengthOf(value: Json): Reply | undefined {
  return typeof value === 'string' ? integer(Buffer.byteLength(value)) : undefined;
}

export const jsonScalarCommands: readonly Command[] = [
  write({
    ...writing,
    name: 'json.strappend',
    arity: -3,
    summary: 'Appends a string to the strings at a path.',
    parse: parseAppend,
    run: changing(appender, { event: 'json.strappend', expected: 'a string' }),
  }),
  read({
    ...column,
    name: 'json.strlen',
    arity: -2,
    flags: ['readonly'],
    summary: 'Returns the lengths of the strings at a path.',
    parse: parseKeyPath,
    run: lookingAt(lengthOf, 'a string'),
  }),
  write({
    ...writing,
    name: 'json.toggle',
    arity: 3,
    summary: 'Makes true of false and false of true at a path.',
    parse: parseToggle,
    run: changing(toggler, { event: 'json.toggle', expected: 'a boolean' }),
  }),
  read({
    ...column,
    name: 'json.objkeys',
    arity: -2,
    flags: ['readonly'],
    summary: 'Returns the names in the objects at a path.',
    parse: parseKeyPath,
    run: lookingAt(namesOf, 'an object', NULL),
  }),
  read({
    ...column,
    name: 'json.objlen',
    arity: -2,
    flags: ['readonly'],
    summary: 'Returns how many names the objects at a path have.',
    parse: parseKeyPath,
    run: lookingAt(countOf, 'an object', NULL),
  }),
];

/** Numbers in documents: JSON.NUMINCRBY and JSON.NUMMULTBY. */
import { combined } from '../../encoding/json/json-number.ts';
import { parseJson } from '../../encoding/json/json-parse.ts';
import { jsonText } from '../../encoding/json/json-text.ts';
import { Double, type Json, JsonError, numberOf } from '../../encoding/json/json-value.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { array, bulk, integer, NULL, type Reply } from '../../resp/reply.ts';
import { argument } from '../rows/args.ts';
import { ArgumentError, type Command, type RunContext, write } from '../rows/command.ts';
import {
  type Changer,
  changed,
  differing,
  isList,
  jsonArgument,
  jsonRun,
  lastOf,
  type PathRequest,
  pathOf,
  REPLY_TEXT,
  writing,
} from './json-run.ts';

type Operation = Parameters<typeof combined>[0];
type JsonNumber = number | bigint | Double;

interface NumberRequest extends PathRequest {
  readonly operand: Buffer;
}

const OPERAND_BYTES_MAX = 512;

/** COMMAND key path value */
function parseNumber(args: readonly Buffer[]): NumberRequest {
  const operand = argument(args, 3);
  if (operand.length > OPERAND_BYTES_MAX || !/^\s*-?[0-9]/.test(operand.toString('latin1'))) {
    throw new ArgumentError('ERR expected a JSON number');
  }
  jsonArgument(operand);
  return { key: argument(args, 1), path: pathOf(argument(args, 2)), operand };
}

/** In RESP2 as JSON text, of a path with `$` an array's; in RESP3 an array of numbers. */
function numberRun(operation: Operation, event: string) {
  return jsonRun<WriteView, NumberRequest>(function* (view, request, context) {
    const operand = (yield* parseJson(request.operand)) as JsonNumber;
    const results: Json[] = [];
    const failure = yield* calculated(view, request, context, results, {
      event,
      change: (value) => {
        const result = isNumber(value) ? combined(operation, value, operand) : null;
        if (result === undefined) throw new JsonError('the result is not a finite number');
        results.push(result);
        return result === null ? undefined : { value: result, reply: integer(0) };
      },
    });
    if (failure !== undefined) return failure;
    const { isLegacy } = request.path;
    const last = results.findLast((result) => result !== null) ?? null;
    const text = yield* jsonText(isLegacy ? last : results, REPLY_TEXT);
    return differing(bulk(text), array(results.map(respNumber)));
  });
}

/** Undefined: it went well. */
function* calculated(
  view: WriteView,
  request: PathRequest,
  context: RunContext,
  results: readonly Json[],
  { event, change }: { readonly event: string; readonly change: Changer },
): Slices<Reply | undefined> {
  const how = { event, expected: 'a number' };
  const replies = yield* changed(view, request, context, change, how);
  if (!isList(replies)) return replies;
  return results.length === 0 && request.path.isLegacy ? lastOf(replies) : undefined;
}

function isNumber(value: Json): value is JsonNumber {
  return numberOf(value) !== undefined;
}

function respNumber(value: Json): Reply {
  if (value instanceof Double) return { kind: 'double', value: value.value };
  return typeof value === 'number' || typeof value === 'bigint' ? integer(value) : NULL;
}

export const jsonNumberCommands: readonly Command[] = [
  write({
    ...writing,
    name: 'json.numincrby',
    arity: 4,
    summary: 'Increments the numbers at a path.',
    parse: parseNumber,
    run: numberRun('add', 'json.numincrby'),
  }),
  write({
    ...writing,
    name: 'json.nummultby',
    arity: 4,
    summary: 'Multiplies the numbers at a path.',
    parse: parseNumber,
    run: numberRun('multiply', 'json.nummultby'),
  }),
];

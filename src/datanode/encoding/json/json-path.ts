/**
 * Paths into JSON documents (redis.io, "Path"): JSONPath, which begins with `$` and names any number of
 * values, and the older form without it, which names one. Parsed once for a command.
 *
 *   $.name  $['name']  $["a","b"]     members            $[0]  $[-1]  $[0,2]   elements
 *   $.*     $[*]                      all of them        $[1:9:2]              a slice
 *   $..name                           at any depth       $[?(@.price < 10)]    a filter: json-filter.ts
 */
import { limits } from '../../../common/limits.ts';
import { parseFilter } from './json-filter.ts';
import { PathReader } from './json-path-reader.ts';
import type { PathStep } from './json-steps.ts';
import { JsonError } from './json-value.ts';

export interface JsonPath {
  /** As it was given. */
  readonly text: string;
  readonly steps: readonly PathStep[];
  /** The older form: it names the first value, and what it does not name is an error. */
  readonly isLegacy: boolean;
}

/** `.` and `$` */
export const ROOT_PATH: JsonPath = { text: '.', steps: [], isLegacy: true };

/** Throws JsonError, which says what is wrong and where. */
export function parsePath(bytes: Buffer): JsonPath {
  if (bytes.length > limits.jsonPathBytesMax) {
    throw new JsonError(`a path has at most ${limits.jsonPathBytesMax} bytes`);
  }
  const text = bytes.toString('utf8');
  const isLegacy = !text.startsWith('$');
  if (isLegacy && (text === '.' || text === '')) return { ...ROOT_PATH, text };
  const isStep = text.startsWith('.') || text.startsWith('[');
  const reader = new PathReader(!isLegacy ? text.slice(1) : isStep ? text : `.${text}`);
  const steps = parseSteps(reader);
  if (!reader.isOver) throw reader.expected('`.` or `[`');
  return { text, steps, isLegacy };
}

/** As many as there are: a path within a filter ends where something else begins. */
function parseSteps(reader: PathReader): readonly PathStep[] {
  const steps: PathStep[] = [];
  for (;;) {
    if (steps.length > limits.jsonPathStepsMax) throw reader.wrong('too many steps');
    if (reader.take('..')) {
      steps.push({ kind: 'deep' });
      steps.push(reader.take('[') ? parseBracket(reader) : parseName(reader));
    } else if (reader.take('.')) {
      steps.push(reader.take('[') ? parseBracket(reader) : parseName(reader));
    } else if (reader.take('[')) {
      steps.push(parseBracket(reader));
    } else {
      return steps;
    }
  }
}

/** A step that names one member, and what is made where there is none. */
export function soleName(step: PathStep | undefined): string | undefined {
  return step?.kind === 'names' && step.names.length === 1 ? step.names[0] : undefined;
}

/** It names one value at most. */
export function isStatic({ steps }: JsonPath): boolean {
  return steps.every(
    (step) =>
      soleName(step) !== undefined || (step.kind === 'indexes' && step.indexes.length === 1),
  );
}

function parseName(reader: PathReader): PathStep {
  if (reader.take('*')) return { kind: 'all' };
  const name = reader.name();
  if (name === '') throw reader.expected('a name');
  return { kind: 'names', names: [name] };
}

/** Behind `[`, and the `]` with it. */
function parseBracket(reader: PathReader): PathStep {
  reader.space();
  const step = parseInside(reader);
  reader.space();
  if (!reader.take(']')) throw reader.expected('`]`');
  return step;
}

function parseInside(reader: PathReader): PathStep {
  if (reader.take('*')) return { kind: 'all' };
  if (reader.take('?')) return { kind: 'filter', filter: parseFilter(reader, parseSteps) };
  if (reader.isQuote) return { kind: 'names', names: listOf(reader, () => reader.quoted()) };
  const first = reader.integer();
  reader.space();
  if (reader.take(':')) return parseSlice(reader, first);
  if (first === undefined) throw reader.expected('a name in quotes, a number, `*` or `?`');
  const others = reader.take(',') ? listOf(reader, () => indexOf(reader)) : [];
  return { kind: 'indexes', indexes: [first, ...others] };
}

function parseSlice(reader: PathReader, from: number | undefined): PathStep {
  reader.space();
  const to = reader.integer();
  reader.space();
  const by = reader.take(':') ? stepOf(reader) : 1;
  return {
    kind: 'slice',
    by,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}

function stepOf(reader: PathReader): number {
  reader.space();
  const by = reader.integer() ?? 1;
  if (by <= 0) throw reader.wrong('the step of a slice is a whole number from 1 on');
  return by;
}

function indexOf(reader: PathReader): number {
  const index = reader.integer();
  if (index === undefined) throw reader.expected('a number');
  return index;
}

function listOf<T>(reader: PathReader, one: () => T): T[] {
  const list: T[] = [];
  do {
    reader.space();
    list.push(one());
    reader.space();
  } while (reader.take(','));
  return list;
}

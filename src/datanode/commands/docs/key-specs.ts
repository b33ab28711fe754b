/**
 * Where a command's keys stand and what becomes of them, as COMMAND INFO tells (redis.io, "Command
 * key specifications").
 */

import { type Command, carriedOut } from '../rows/command.ts';
import { isComparison } from '../rows/comparison-words.ts';
import { keySpecLines } from './key-spec-lines.ts';

export interface KeySpec {
  readonly begin:
    | { readonly type: 'index'; readonly index: number }
    | { readonly type: 'keyword'; readonly keyword: string; readonly from: number }
    | { readonly type: 'unknown' };
  readonly find:
    | {
        readonly type: 'range';
        readonly last: number;
        readonly step: number;
        readonly limit: number;
      }
    | {
        readonly type: 'keynum';
        readonly at: number;
        readonly first: number;
        readonly step: number;
      }
    | { readonly type: 'unknown' };
  readonly flags: readonly string[];
}

/** A key of a request and what the command does with it. */
export interface KeyUse {
  readonly key: Buffer;
  readonly flags: readonly string[];
}

const specsByName: ReadonlyMap<string, readonly KeySpec[]> = new Map(
  keySpecLines.flatMap(({ specs, of }) => {
    const parsed = specs.map(parseSpec);
    return of.split(' ').map((name) => [name, parsed] as const);
  }),
);

function parseSpec(line: string): KeySpec {
  const [begin = '', find = '', flags = ''] = line.split(' · ');
  return { begin: parseBegin(begin), find: parseFind(find), flags: flags.split(' ') };
}

function parseBegin(text: string): KeySpec['begin'] {
  const [type, first = '', from] = text.split(' ');
  if (type === 'index') return { type, index: Number(first) };
  if (type === 'keyword') return { type, keyword: first, from: Number(from) };
  return { type: 'unknown' };
}

function parseFind(text: string): KeySpec['find'] {
  const [type, a, b, c] = text.split(' ');
  if (type === 'range') return { type, last: Number(a), step: Number(b), limit: Number(c) };
  if (type === 'keynum') return { type, at: Number(a), first: Number(b), step: Number(c) };
  return { type: 'unknown' };
}

/** Of a command that is not in the table: from its positions and whether it writes. */
function derivedSpecs({ keys, flags }: Command): readonly KeySpec[] {
  if (keys.first === 0) return [];
  const { first, last, step } = keys;
  return [
    {
      begin: { type: 'index', index: first },
      find: { type: 'range', last: last < 0 ? last : last - first, step, limit: 0 },
      flags: flags.includes('write') ? ['RW', 'access', 'update'] : ['RO', 'access'],
    },
  ];
}

export function keySpecsOf(command: Command): readonly KeySpec[] {
  return specsByName.get(command.name) ?? derivedSpecs(command);
}

/**
 * The keys of a request with what is done to each; `found` are the keys that the row itself knows:
 * where a specification is too general to find them, and for those that it misses.
 */
export function keyUses(
  row: Command,
  request: readonly Buffer[],
  found: readonly Buffer[],
): readonly KeyUse[] {
  const { command, line: args } = carriedOut(row, request);
  const specs = keySpecsOf(command).filter(({ flags }) => !flags.includes('not_key'));
  const vague = specs.some(
    ({ begin, find, flags }) =>
      begin.type === 'unknown' ||
      find.type === 'unknown' ||
      flags.includes('incomplete') ||
      // XREAD's keyword may stand among its options as the name of a group
      isLimited(find),
  );
  if (specs.some(({ begin, find }) => countsWrong(begin, find, args))) return [];
  const uses = vague ? [] : specs.flatMap((spec) => usesOf(command, spec, args));
  if (uses.length > 0) return [...uses, ...missedBy(uses, found)];
  // what stands behind the first key is what the last specifications are about (SORT's STORE)
  const ofAll = specs.length === 1;
  return found.map((key, at) => ({
    key,
    flags:
      (ofAll || at === 0 ? specs[0] : specs[specs.length - found.length + at])?.flags ??
      UNKNOWN_USE,
  }));
}

/** Only a part of what is behind the first key are keys. */
function isLimited(find: KeySpec['find']): boolean {
  return find.type === 'range' && find.limit > 1;
}

const UNKNOWN_USE: readonly string[] = ['RW', 'access', 'update'];

/**
 * What the command takes for a key and no specification does: of several STOREs those see the first,
 * GEORADIUS the last. Counted, because one place of a key says nothing of what another is used for.
 */
function missedBy(uses: readonly KeyUse[], found: readonly Buffer[]): KeyUse[] {
  // as nearly always: the very same arguments
  if (found.every((key, at) => key === uses[at]?.key)) return [];
  const known = new Map<string, number>();
  for (const { key } of uses) {
    const name = key.toString('latin1');
    known.set(name, (known.get(name) ?? 0) + 1);
  }
  return found.flatMap((key) => {
    const name = key.toString('latin1');
    const left = known.get(name) ?? 0;
    known.set(name, left - 1);
    return left > 0 ? [] : [{ key, flags: UNKNOWN_USE }];
  });
}

/** The request says that it has no keys, or more than it has arguments. */
function countsWrong(
  begin: KeySpec['begin'],
  find: KeySpec['find'],
  args: readonly Buffer[],
): boolean {
  if (find.type !== 'keynum' || begin.type !== 'index') return false;
  const count = Number(args[begin.index + find.at]?.toString('latin1'));
  return !(count >= 1) || begin.index + find.first + (count - 1) * find.step >= args.length;
}

function usesOf(command: Command, spec: KeySpec, args: readonly Buffer[]): KeyUse[] {
  const first = firstKeyAt(spec.begin, args);
  if (first === undefined) return [];
  const flags = flagsHere(command, spec, args);
  return keyPlaces(spec.find, first, args).map((at) => ({ key: args[at]!, flags }));
}

function firstKeyAt(begin: KeySpec['begin'], args: readonly Buffer[]): number | undefined {
  if (begin.type === 'index') return begin.index;
  if (begin.type === 'unknown') return undefined;
  const step = begin.from < 0 ? -1 : 1;
  const start = begin.from < 0 ? args.length + begin.from : begin.from;
  for (let at = start; at > 0 && at < args.length; at += step) {
    if (args[at]!.toString('latin1').toUpperCase() === begin.keyword) return at + 1;
  }
  return undefined;
}

function keyPlaces(find: KeySpec['find'], begin: number, args: readonly Buffer[]): number[] {
  const places: number[] = [];
  if (find.type === 'range') {
    const last = find.last < 0 ? args.length + find.last : begin + find.last;
    for (let at = begin; at <= last && at < args.length; at += find.step) places.push(at);
  } else if (find.type === 'keynum') {
    const count = Number(args[begin + find.at]?.toString('latin1'));
    for (let key = 0; key < count; key++) {
      const at = begin + find.first + key * find.step;
      if (at >= args.length) break;
      places.push(at);
    }
  }
  return places;
}

/** Some commands read, or write, only with certain words. */
function flagsHere(
  { name }: Command,
  { flags }: KeySpec,
  args: readonly Buffer[],
): readonly string[] {
  if (!flags.includes('variable_flags')) return flags;
  // SET's options begin behind its value, which may be any word; BITFIELD's behind the key
  const words = args
    .slice(name === 'set' ? 3 : 2)
    .map((arg) => arg.toString('latin1').toLowerCase());
  // who compares learns of the value
  if (name === 'delex') return args.length > 2 ? ['RW', 'access', 'delete'] : ['RW', 'delete'];
  if (name === 'set' && !words.includes('get') && !words.some(isComparison)) {
    return ['OW', 'update'];
  }
  if (name === 'bitfield' && !words.includes('set') && !words.includes('incrby')) {
    return ['RO', 'access'];
  }
  return flags.filter((flag) => flag !== 'variable_flags');
}

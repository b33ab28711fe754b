/**
 * Arguments of GEOSEARCH and GEORADIUS in all their forms. Redis reads them after it has looked at
 * the key, and looks members up while it reads: what is told first of several errors depends on it.
 */
import type { Area } from '../../encoding/geo/geo-area.ts';
import type { Point } from '../../encoding/geo/geohash.ts';
import { argument, countArgument, syntaxError, word } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';
import { doubleArgument } from '../texts/score-args.ts';
import { pointArgument, unitArgument } from './geo.ts';

export interface SearchForm {
  /** As it was typed. */
  readonly name: string;
  readonly kind: 'search' | 'searchStore' | 'radius' | 'radiusByMember';
  /** GEORADIUS_RO and relatives: no STORE. */
  readonly readOnly: boolean;
}

/** Undefined: the key is not there. Throws when the member is not. */
export type FindMember = ((member: Buffer) => Point) | undefined;

export interface Search {
  /** Undefined when the key that its center is to be found in is not there. */
  readonly area: Area | undefined;
  /** Meters of a unit of the area's sizes: distances are given in it. */
  readonly unit: number;
  readonly withDist: boolean;
  readonly withHash: boolean;
  readonly withCoord: boolean;
  readonly any: boolean;
  readonly order: 'none' | 'asc' | 'desc';
  /** 0: all. */
  readonly count: number;
  readonly target: Buffer | undefined;
  readonly storeDist: boolean;
}

type Shape =
  | { readonly shape: 'circle'; readonly radiusMeters: number }
  | { readonly shape: 'box'; readonly widthMeters: number; readonly heightMeters: number };

/** What has been read so far. */
interface Reading {
  from: 'member' | 'point' | undefined;
  center: Point | undefined;
  by: Shape | undefined;
  unit: number;
  withDist: boolean;
  withHash: boolean;
  withCoord: boolean;
  any: boolean;
  order: 'none' | 'asc' | 'desc';
  count: number;
  target: Buffer | undefined;
  storeDist: boolean;
}

export function parseSearch(
  args: readonly Buffer[],
  form: SearchForm,
  findMember: FindMember,
): Search {
  const reading: Reading = {
    from: undefined,
    center: undefined,
    by: undefined,
    unit: 1,
    withDist: false,
    withHash: false,
    withCoord: false,
    any: false,
    order: 'none',
    count: 0,
    target: form.kind === 'searchStore' ? argument(args, 1) : undefined,
    storeDist: false,
  };
  let at = readFixed(args, form, findMember, reading);
  while (at < args.length) at += readOption(args, at, form, findMember, reading);
  check(form, reading);
  const { from: _from, by, center, order, ...rest } = reading;
  const sorted = order === 'none' && rest.count > 0 && !rest.any ? 'asc' : order;
  return { ...rest, order: sorted, area: center && by && { center, ...by } };
}

/** Reads what stands at a fixed place, and returns where options begin. */
function readFixed(
  args: readonly Buffer[],
  { kind }: SearchForm,
  findMember: FindMember,
  reading: Reading,
): number {
  if (kind === 'search') return 2;
  if (kind === 'searchStore') return 3;
  if (kind === 'radius') {
    reading.center = pointArgument(argument(args, 2), argument(args, 3));
    readRadius(argument(args, 4), argument(args, 5), reading);
    return 6;
  }
  if (findMember !== undefined) {
    reading.center = findMember(argument(args, 2));
    readRadius(argument(args, 3), argument(args, 4), reading);
  }
  return 5;
}

/** Returns how many words the option has. */
function readOption(
  args: readonly Buffer[],
  at: number,
  form: SearchForm,
  findMember: FindMember,
  reading: Reading,
): number {
  const option = word(argument(args, at));
  const left = args.length - at - 1;
  if (readFlag(option, reading)) return 1;
  if (option === 'count' && left >= 1) {
    reading.count = countArgument(argument(args, at + 1));
    if (reading.count <= 0) throw new ArgumentError('ERR COUNT must be > 0');
    return 2;
  }
  if (form.kind === 'search' || form.kind === 'searchStore') {
    return readSearchOption(args, at, form, findMember, reading);
  }
  const isStore = option === 'store' || option === 'storedist';
  if (!isStore || form.readOnly || left < 1) throw syntaxError();
  reading.target = argument(args, at + 1);
  reading.storeDist = option === 'storedist';
  return 2;
}

function readFlag(option: string, reading: Reading): boolean {
  switch (option) {
    case 'withdist':
      reading.withDist = true;
      return true;
    case 'withhash':
      reading.withHash = true;
      return true;
    case 'withcoord':
      reading.withCoord = true;
      return true;
    case 'any':
      reading.any = true;
      return true;
    case 'asc':
    case 'desc':
      reading.order = option;
      return true;
    default:
      return false;
  }
}

function readSearchOption(
  args: readonly Buffer[],
  at: number,
  { kind }: SearchForm,
  findMember: FindMember,
  reading: Reading,
): number {
  const option = word(argument(args, at));
  const left = args.length - at - 1;
  const word1 = args[at + 1];
  const word2 = args[at + 2];
  const word3 = args[at + 3];
  const { from, by } = reading;
  if (option === 'frommember' && word1 && from !== 'point') {
    reading.from = 'member';
    if (findMember !== undefined) reading.center = findMember(word1);
    return 2;
  }
  if (option === 'fromlonlat' && word1 && word2 && from !== 'member') {
    reading.from = 'point';
    reading.center = pointArgument(word1, word2);
    return 3;
  }
  if (option === 'byradius' && word1 && word2 && by?.shape !== 'box') {
    readRadius(word1, word2, reading);
    return 3;
  }
  if (option === 'bybox' && left >= 3 && by?.shape !== 'circle') {
    readBox(word1!, word2!, word3!, reading);
    return 4;
  }
  if (option !== 'storedist' || kind !== 'searchStore') throw syntaxError();
  reading.storeDist = true;
  return 1;
}

function readRadius(radiusArg: Buffer, unitArg: Buffer, reading: Reading): void {
  const radius = doubleArgument(radiusArg, 'ERR need numeric radius');
  if (radius < 0) throw new ArgumentError('ERR radius cannot be negative');
  reading.unit = unitArgument(unitArg);
  reading.by = { shape: 'circle', radiusMeters: radius * reading.unit };
}

function readBox(widthArg: Buffer, heightArg: Buffer, unitArg: Buffer, reading: Reading): void {
  const width = doubleArgument(widthArg, 'ERR need numeric width');
  const height = doubleArgument(heightArg, 'ERR need numeric height');
  if (width < 0 || height < 0) {
    throw new ArgumentError('ERR height or width cannot be negative');
  }
  const unit = unitArgument(unitArg);
  reading.unit = unit;
  reading.by = { shape: 'box', widthMeters: width * unit, heightMeters: height * unit };
}

function check({ name, kind }: SearchForm, reading: Reading): void {
  const isSearch = kind === 'search' || kind === 'searchStore';
  if (reading.target && (reading.withDist || reading.withHash || reading.withCoord)) {
    const what = isSearch ? 'GEOSEARCHSTORE' : 'STORE option in GEORADIUS';
    throw new ArgumentError(
      `ERR ${what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options`,
    );
  }
  const exactlyOne = (which: string) =>
    new ArgumentError(`ERR exactly one of ${which} can be specified for ${name}`);
  if (isSearch && !reading.from) throw exactlyOne('FROMMEMBER or FROMLONLAT');
  if (isSearch && !reading.by) throw exactlyOne('BYRADIUS and BYBOX');
  if (reading.any && reading.count === 0) {
    throw new ArgumentError('ERR the ANY argument requires COUNT argument');
  }
}

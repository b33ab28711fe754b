/** Places in sorted sets: GEOADD, GEODIST, GEOHASH, GEOPOS. */

import {
  decodePoint,
  distanceMeters,
  encodePoint,
  geohashText,
  LATITUDE_MAX,
  LONGITUDE_MAX,
  type Point,
} from '../../encoding/geo/geohash.ts';
import type { View } from '../../encoding/txn/view.ts';
import { readZset, scoreOf } from '../../encoding/zsets/zset.ts';
import { array, bulk, NULL, NULL_ARRAY, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { argument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';
import { fixedDecimal, humanDecimal } from '../texts/fixed-decimal.ts';
import { doubleArgument } from '../texts/score-args.ts';
import { type AddRequest, membersOf, runAdd } from '../zsets/zset-add.ts';

const DECIMALS = 6;
const DISTANCE_DECIMALS = 4;

const METERS: Readonly<Record<string, number>> = { m: 1, km: 1000, ft: 0.3048, mi: 1609.34 };

/** Meters of a unit: m, km, ft or mi. */
export function unitArgument(arg: Buffer): number {
  const name = word(arg);
  const meters = Object.hasOwn(METERS, name) ? METERS[name] : undefined;
  if (meters === undefined) {
    throw new ArgumentError('ERR unsupported unit provided. please use M, KM, FT, MI');
  }
  return meters;
}

export function pointArgument(longitudeArg: Buffer, latitudeArg: Buffer): Point {
  const longitude = doubleArgument(longitudeArg);
  const latitude = doubleArgument(latitudeArg);
  if (Math.abs(longitude) > LONGITUDE_MAX || Math.abs(latitude) > LATITUDE_MAX) {
    const pair = [longitude, latitude].map((degrees) => fixedDecimal(degrees, DECIMALS)).join();
    throw new ArgumentError(`ERR invalid longitude,latitude pair ${pair}`);
  }
  return { longitude, latitude };
}

export function distanceReply(meters: number, unit: number): Reply {
  return bulk(fixedDecimal(meters / unit, DISTANCE_DECIMALS));
}

export function pointReply({ longitude, latitude }: Point): Reply {
  return array(
    [longitude, latitude].map((value) => ({ kind: 'double', value, text: humanDecimal(value) })),
  );
}

/** GEOADD key [NX | XX] [CH] longitude latitude member [longitude latitude member ...] */
function parseGeoAdd(args: readonly Buffer[]): AddRequest {
  const given = new Set<string>();
  let at = 2;
  for (; at < args.length; at++) {
    const option = word(argument(args, at));
    if (option !== 'nx' && option !== 'xx' && option !== 'ch') break;
    given.add(option);
  }
  const count = args.length - at;
  const [nx, xx, ch] = ['nx', 'xx', 'ch'].map((option) => given.has(option));
  if (count === 0 || count % 3 !== 0 || (nx && xx)) throw syntaxError();
  const members = membersOf(count / 3, (number) => {
    const pointAt = at + 3 * number;
    const point = pointArgument(argument(args, pointAt), argument(args, pointAt + 1));
    return { score: encodePoint(point), member: argument(args, pointAt + 2) };
  });
  const options = { nx: nx!, xx: xx!, ch: ch!, gt: false, lt: false, incr: false };
  return { key: argument(args, 1), options, members };
}

interface DistanceRequest {
  readonly key: Buffer;
  readonly members: readonly [Buffer, Buffer];
  /** Meters of one. */
  readonly unit: number;
}

/** GEODIST key member1 member2 [M | KM | FT | MI] */
function parseGeoDist(args: readonly Buffer[]): DistanceRequest {
  if (args.length > 5) throw syntaxError();
  return {
    key: argument(args, 1),
    members: [argument(args, 2), argument(args, 3)],
    unit: args[4] === undefined ? 1 : unitArgument(args[4]),
  };
}

function runGeoDist(view: View, request: DistanceRequest, { nowMs }: RunContext): Reply {
  const zset = readZset(view, request.key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  if (zset === undefined) return NULL;
  const [from, to] = request.members.map((member) => scoreOf(view, zset.place, member));
  if (from === undefined || to === undefined) return NULL;
  return distanceReply(distanceMeters(decodePoint(from), decodePoint(to)), request.unit);
}

/** GEOHASH key [member [member ...]], GEOPOS likewise */
function runEach(absent: Reply, replyOf: (score: number) => Reply) {
  return (view: View, args: readonly Buffer[], { nowMs }: RunContext): RunResult => {
    const zset = readZset(view, argument(args, 1), nowMs);
    if (zset === 'wrong-type') return WRONG_TYPE;
    const pile = new ReplyPile('array', 'fewer members');
    const read = (member: Buffer) => {
      const score = zset && scoreOf(view, zset.place, member);
      pile.add(score === undefined ? absent : replyOf(score));
    };
    return inSteps(args.slice(2), read, () => pile.reply());
  };
}

export const geoColumn = { keys: FIRST_KEY, categories: ['geo'], group: 'geo' } as const;
const readColumn = { ...geoColumn, flags: ['readonly'], since: '3.2.0' } as const;

export const geoCommands: readonly Command[] = [
  write({
    ...geoColumn,
    name: 'geoadd',
    arity: -5,
    flags: ['write', 'denyoom'],
    since: '3.2.0',
    summary: 'Adds members with longitude and latitude to a geospatial index, a sorted set.',
    parse: parseGeoAdd,
    run: runAdd,
  }),
  read({
    ...readColumn,
    name: 'geodist',
    arity: -4,
    summary: 'Returns the distance between two members of a geospatial index.',
    parse: parseGeoDist,
    run: runGeoDist,
  }),
  read({
    ...readColumn,
    name: 'geohash',
    arity: -2,
    summary: 'Returns members of a geospatial index as geohash strings.',
    parse: (args) => args,
    run: runEach(NULL, (score) => bulk(geohashText(score))),
  }),
  read({
    ...readColumn,
    name: 'geopos',
    arity: -2,
    summary: 'Returns the longitude and latitude of members of a geospatial index.',
    parse: (args) => args,
    run: runEach(NULL_ARRAY, (score) => pointReply(decodePoint(score))),
  }),
];

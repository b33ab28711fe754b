/** Members of a geospatial index in an area: GEOSEARCH, GEOSEARCHSTORE, GEORADIUS and relatives. */

import { SteadyList } from '../../../common/steady-list.ts';
import type { Collection } from '../../encoding/collections/collection.ts';
import { cellsOf, distanceWithin } from '../../encoding/geo/geo-area.ts';
import { decodePoint } from '../../encoding/geo/geohash.ts';
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import { eachItem, giveWay, type Slices } from '../../encoding/steps/slices.ts';
import { sortStepwise } from '../../encoding/steps/stepwise-sort.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { type Entry, readZset, scoreOf } from '../../encoding/zsets/zset.ts';
import { buildZset, ScoredList } from '../../encoding/zsets/zset-build.ts';
import { scoreSpan, walkSpan } from '../../encoding/zsets/zset-range.ts';
import { array, bulk, EMPTY_ARRAY, error, integer, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { argument, WRONG_TYPE, word } from '../rows/args.ts';
import { ArgumentError, type Command, type RunContext, read, write } from '../rows/command.ts';
import { deleteKey } from '../rows/key-events.ts';
import { finishZset } from '../zsets/zset-save.ts';
import { distanceReply, geoColumn, pointReply } from './geo.ts';
import { parseSearch, type Search, type SearchForm } from './geo-search-args.ts';

interface Found extends Entry {
  readonly meters: number;
}

interface SearchRequest {
  readonly args: readonly Buffer[];
  readonly form: SearchForm;
}

/** What a search has found: the first `count` of `all`. */
interface FoundMembers {
  readonly search: Search;
  readonly all: SteadyList<Found>;
  readonly count: number;
}

function* runFind(
  view: View,
  { args, form }: SearchRequest,
  { nowMs }: RunContext,
): Slices<FoundMembers | Reply> {
  const zset = readZset(view, argument(args, form.kind === 'searchStore' ? 2 : 1), nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  const search = searchOf(view, args, form, zset);
  if ('kind' in search) return search;
  if (zset === undefined) return { search, all: new SteadyList(), count: 0 };
  let all = yield* findAll(zset, search);
  if (search.order !== 'none') {
    const sign = search.order === 'asc' ? 1 : -1;
    all = yield* sortStepwise(all, (a, b) => sign * (a.meters - b.meters), giveWay);
  }
  const count = search.count > 0 ? Math.min(search.count, all.length) : all.length;
  return { search, all, count };
}

function searchOf(
  view: View,
  args: readonly Buffer[],
  form: SearchForm,
  zset: Collection | undefined,
): Search | Reply {
  const findMember = (member: Buffer) => {
    const score = scoreOf(view, zset!.place, member);
    if (score === undefined) throw new ArgumentError('ERR could not decode requested zset member');
    return decodePoint(score);
  };
  try {
    return parseSearch(args, form, zset && findMember);
  } catch (failure) {
    if (!(failure instanceof ArgumentError)) throw failure;
    return error(failure.message);
  }
}

function* findAll({ place }: Collection, { area, any, count }: Search): Slices<SteadyList<Found>> {
  const found = new SteadyList<Found>();
  if (area === undefined) return found;
  const enough = any ? count : Number.POSITIVE_INFINITY;
  for (const { min, max } of cellsOf(area)) {
    if (found.length >= enough) break;
    const span = scoreSpan(place, { min, max, minOpen: false, maxOpen: true });
    yield* walkSpan(span!, ({ member, score }) => {
      const meters = distanceWithin(area, score);
      if (meters !== undefined) found.push({ member, score, meters });
      return found.length >= enough;
    });
  }
  return found;
}

function* runRead(view: View, request: SearchRequest, context: RunContext): Slices<Reply> {
  const result = yield* runFind(view, request, context);
  return 'kind' in result ? result : yield* foundReply(result);
}

function* foundReply({ search, all, count }: FoundMembers): Slices<Reply> {
  const { withDist, withHash, withCoord, unit } = search;
  if (count === 0) return EMPTY_ARRAY;
  const pile = new ReplyPile('array', 'COUNT, or a smaller area');
  yield* eachItem(all.items(0, count), ({ member, score, meters }) => {
    if (!withDist && !withHash && !withCoord) return pile.add(bulk(member));
    const more: Reply[] = [];
    if (withDist) more.push(distanceReply(meters, unit));
    if (withHash) more.push(integer(BigInt(Math.trunc(score))));
    if (withCoord) more.push(pointReply(decodePoint(score)));
    return pile.add(array([bulk(member), ...more]));
  });
  return pile.reply();
}

function* runWrite(view: WriteView, request: SearchRequest, context: RunContext): Slices<Reply> {
  const result = yield* runFind(view, request, context);
  if ('kind' in result) return result;
  const { search, all, count } = result;
  if (search.target === undefined) return yield* foundReply(result);
  const target = findKey(view, search.target, context.nowMs);
  if (count === 0) {
    deleteKey(view, target);
    return integer(0);
  }
  const scored = new ScoredList();
  yield* eachItem(all.items(0, count), ({ member, score, meters }) => {
    const name = member.toString('latin1');
    scored.add({ name, score: search.storeDist ? meters / search.unit : score });
  });
  const zset = yield* buildZset(view, target, scored);
  const event = request.form.kind === 'searchStore' ? 'geosearchstore' : 'georadiusstore';
  return yield* finishZset(view, zset, { event, reply: integer(count) });
}

/** GEORADIUS and GEORADIUSBYMEMBER: the key, and what STORE and STOREDIST name. */
function radiusKeys(optionsAt: number): (args: readonly Buffer[]) => readonly Buffer[] {
  return (args) => {
    let target: Buffer | undefined;
    for (let at = optionsAt; at + 1 < args.length; at++) {
      const option = word(argument(args, at));
      if (option === 'store' || option === 'storedist') target = args[++at];
    }
    return target === undefined ? [argument(args, 1)] : [argument(args, 1), target];
  };
}

type Kind = SearchForm['kind'];

/** What is wrong with the arguments depends on the key: the run finds it. */
function parseAs(kind: Kind, readOnly: boolean): (args: readonly Buffer[]) => SearchRequest {
  return (args) => ({ args, form: { name: argument(args, 0).toString(), kind, readOnly } });
}

const radiusSummary = 'Returns or stores members of a geospatial index within a distance of';

function radiusRow(name: string, kind: Kind, arity: number, of: string): Command {
  return write({
    ...geoColumn,
    name,
    arity,
    flags: ['write', 'denyoom', 'movablekeys'],
    keysOf: radiusKeys(-arity),
    since: '3.2.0',
    summary: `${radiusSummary} ${of}.`,
    parse: parseAs(kind, false),
    run: runWrite,
  });
}

function radiusReadRow(name: string, kind: Kind, arity: number, of: string): Command {
  return read({
    ...geoColumn,
    name,
    arity,
    flags: ['readonly'],
    since: '3.2.10',
    summary: `Returns members of a geospatial index within a distance of ${of}.`,
    parse: parseAs(kind, true),
    run: runRead,
  });
}

export const geoSearchCommands: readonly Command[] = [
  read({
    ...geoColumn,
    name: 'geosearch',
    arity: -7,
    flags: ['readonly'],
    since: '6.2.0',
    summary: 'Returns members of a geospatial index in a circle or a box.',
    parse: parseAs('search', true),
    run: runRead,
  }),
  write({
    ...geoColumn,
    name: 'geosearchstore',
    arity: -8,
    flags: ['write', 'denyoom'],
    keys: { first: 1, last: 2, step: 1 },
    since: '6.2.0',
    summary: 'Stores members of a geospatial index in a circle or a box in another key.',
    parse: parseAs('searchStore', true),
    run: runWrite,
  }),
  radiusRow('georadius', 'radius', -6, 'a point'),
  radiusRow('georadiusbymember', 'radiusByMember', -5, 'a member'),
  radiusReadRow('georadius_ro', 'radius', -6, 'a point'),
  radiusReadRow('georadiusbymember_ro', 'radiusByMember', -5, 'a member'),
];

/** What a script answers (redis.io, "Lua to Redis type conversion"). Metatables are not asked, as in Redis. */
import { limits } from '../../../common/limits.ts';
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import { LuaTable } from '../../lua/values/table.ts';
import type { LuaValue } from '../../lua/values/value.ts';
import { error, integer, NULL, type Protocol, type Reply } from '../../resp/reply.ts';
import { ReplyPile, ReplyRoom } from '../../resp/reply-pile.ts';
import { lineOf, textOf } from './script-errors.ts';

const IN_PARTS = 'fewer or smaller values in what the script answers';
const TOO_DEEP = error(
  `ERR reached the limit of tables within each other in a reply (${limits.scriptReplyDepthMax})`,
);
/** A table counts for more than it takes in a reply: to look at one takes longer than at anything else. */
const TABLE_BYTES = 256;
const INT64_MIN = -(2n ** 63n);
const INT64_END = 2 ** 63;
const BIG_NUMBER = /^-?\d{1,4096}$/;

/** `protocol`: the one that the script has chosen. Throws ReplyTooLargeError. */
export function* luaToReply(value: LuaValue, protocol: Protocol): Slices<Reply> {
  if (isTable(value)) return yield* new Conversion(protocol).table(value, 1);
  if (typeof value === 'string') new ReplyRoom(IN_PARTS).note(value.length);
  return leaf(value, protocol);
}

class Conversion {
  readonly #protocol: Protocol;
  readonly #room = new ReplyRoom(IN_PARTS);
  #done = 0;

  constructor(protocol: Protocol) {
    this.#protocol = protocol;
  }

  *table(table: LuaTable, depth: number): Slices<Reply> {
    if (depth > limits.scriptReplyDepthMax) return TOO_DEEP;
    const special = scalar(table, this.#room);
    if (special !== undefined) return special;
    const map = table.get('map');
    if (map instanceof LuaTable) return yield* this.#pairs(map, 'map', depth);
    const set = table.get('set');
    if (set instanceof LuaTable) return yield* this.#pairs(set, 'set', depth);
    const pile = new ReplyPile('array', IN_PARTS);
    for (let at = 1; ; at++) {
      const item = table.get(at);
      if (item === undefined) return pile.reply();
      if (this.#isGlanceDue(item)) yield GLANCE;
      pile.add(isTable(item) ? yield* this.table(item, depth + 1) : leaf(item, this.#protocol));
    }
  }

  /** Of a set the keys alone. */
  *#pairs(table: LuaTable, shape: 'map' | 'set', depth: number): Slices<Reply> {
    const pile = new ReplyPile(shape, IN_PARTS);
    // one table may be in the reply a hundred thousand times, and nothing charges its walks
    table.forgetHoles();
    for (let pair = table.next(undefined); pair !== undefined; pair = table.next(pair[0])) {
      const key = yield* this.#item(pair[0], depth);
      if (shape === 'set') pile.add(key);
      else pile.add(key, yield* this.#item(pair[1], depth));
    }
    return pile.reply();
  }

  *#item(value: LuaValue, depth: number): Slices<Reply> {
    if (this.#isGlanceDue(value)) yield GLANCE;
    return isTable(value) ? yield* this.table(value, depth + 1) : leaf(value, this.#protocol);
  }

  #isGlanceDue(value: LuaValue): boolean {
    if (typeof value === 'string') this.#room.note(value.length);
    else this.#room.note(isTable(value) ? TABLE_BYTES : 0);
    return isGlanceDue(++this.#done);
  }
}

function isTable(value: LuaValue): value is LuaTable {
  return value instanceof LuaTable;
}

function leaf(value: LuaValue, protocol: Protocol): Reply {
  switch (typeof value) {
    case 'string':
      return { kind: 'bulk', bytes: Buffer.from(value, 'latin1') };
    case 'number':
      return integer(truncated(value));
    case 'boolean':
      if (protocol === 3) return { kind: 'boolean', value };
      return value ? integer(1) : NULL;
    default:
      return NULL;
  }
}

/** As C makes a `long long` of a double. */
function truncated(value: number): number | bigint {
  if (!(value >= -INT64_END && value < INT64_END)) return INT64_MIN;
  const whole = Math.trunc(value);
  // no -0
  return Number.isSafeInteger(whole) ? whole + 0 : BigInt(whole);
}

/** A table that stands for one value. */
function scalar(table: LuaTable, room: ReplyRoom): Reply | undefined {
  const text = (value: LuaValue) => textIn(value, room);
  const failure = text(table.get('err'));
  if (failure !== undefined) return error(lineOf(textOf(failure)));
  const status = text(table.get('ok'));
  if (status !== undefined) return { kind: 'simple', text: lineOf(textOf(status)) };
  const double = table.get('double');
  if (typeof double === 'number') return { kind: 'double', value: double };
  const big = text(table.get('big_number'));
  if (big !== undefined && BIG_NUMBER.test(big)) return { kind: 'bigNumber', value: BigInt(big) };
  const verbatim = table.get('verbatim_string');
  return verbatim instanceof LuaTable ? verbatimOf(verbatim, text) : undefined;
}

function verbatimOf(
  table: LuaTable,
  text: (value: LuaValue) => string | undefined,
): Reply | undefined {
  const format = text(table.get('format'));
  const string = text(table.get('string'));
  if (format === undefined || string === undefined) return undefined;
  return { kind: 'verbatim', format: format === 'mkd' ? 'mkd' : 'txt', text: textOf(string) };
}

/** A number is no text here, as nowhere in Redis. */
function textIn(value: LuaValue, room: ReplyRoom): string | undefined {
  if (typeof value !== 'string') return undefined;
  room.note(value.length);
  return value;
}

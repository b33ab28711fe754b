/**
 * What a command answers as a script has it (redis.io, "Redis protocol to Lua data type conversion"): by
 * RESP2, or by RESP3 after `redis.setresp(3)`. What is no single value is read from its bytes, as in Redis.
 */
import { assert } from '../../../common/assert.ts';
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import type { Meter } from '../../lua/values/function.ts';
import { LuaTable } from '../../lua/values/table.ts';
import type { LuaValue } from '../../lua/values/value.ts';
import { encodeReply } from '../../resp/encode-reply.ts';
import type { Protocol, Reply } from '../../resp/reply.ts';
import { errorTable } from './script-errors.ts';

const LF = 0x0a;
/** What a table takes with what is in it, for each item. */
const ITEM_BYTES = 64;

export function* replyToLua(reply: Reply, protocol: Protocol, meter: Meter): Slices<LuaValue> {
  switch (reply.kind) {
    case 'integer':
      return Number(reply.value);
    case 'bulk':
      meter.bytes(reply.bytes.length);
      return reply.bytes.toString('latin1');
    case 'simple':
      return single('ok', bytesOf(reply.text));
    case 'error':
      return errorTable(bytesOf(reply.text), true);
    case 'null':
    case 'nullArray':
      return protocol === 3 ? undefined : false;
    default:
      return yield* new Reading(encodeReply(reply, protocol), protocol, meter).all();
  }
}

class Reading {
  readonly #bytes: Buffer;
  readonly #protocol: Protocol;
  readonly #meter: Meter;
  #at = 0;
  #read = 0;

  constructor(bytes: Buffer, protocol: Protocol, meter: Meter) {
    this.#bytes = bytes;
    this.#protocol = protocol;
    this.#meter = meter;
  }

  *all(): Slices<LuaValue> {
    // what is made of it is not more than this, near enough
    this.#meter.bytes(this.#bytes.length);
    return yield* this.#next();
  }

  *#next(): Slices<LuaValue> {
    const mark = String.fromCharCode(this.#bytes[this.#at]!);
    switch (mark) {
      case '*':
      case '>':
        return yield* this.#array();
      case '~':
        return yield* this.#set();
      case '%':
        return yield* this.#map();
      default:
        return this.#leaf(mark, this.#line());
    }
  }

  #leaf(mark: string, rest: string): LuaValue {
    switch (mark) {
      case '$':
        return rest === '-1' ? this.#null : this.#body(Number(rest));
      case ':':
        return Number(rest);
      case '+':
        return single('ok', rest);
      case '-':
        return errorTable(rest, true);
      case '_':
        return this.#null;
      case '#':
        return rest === 't';
      case ',':
        return single('double', doubleOf(rest));
      case '(':
        return single('big_number', rest);
      default:
        assert(mark === '=', `no reply begins with ${mark}`);
        return verbatim(this.#body(Number(rest)));
    }
  }

  get #null(): LuaValue {
    return this.#protocol === 3 ? undefined : false;
  }

  *#array(): Slices<LuaValue> {
    const count = Number(this.#line());
    if (count < 0) return this.#null;
    const table = new LuaTable();
    for (let at = 1; at <= count; at++) {
      if (this.#isGlanceDue()) yield GLANCE;
      table.set(at, this.#isNested() ? yield* this.#next() : this.#item());
    }
    return table;
  }

  *#set(): Slices<LuaValue> {
    const members = new LuaTable();
    for (let left = Number(this.#line()); left > 0; left--) {
      if (this.#isGlanceDue()) yield GLANCE;
      const member = yield* this.#next();
      if (isKey(member)) members.set(member, true);
    }
    return single('set', members);
  }

  *#map(): Slices<LuaValue> {
    const pairs = new LuaTable();
    for (let left = Number(this.#line()); left > 0; left--) {
      if (this.#isGlanceDue()) yield GLANCE;
      const key = yield* this.#next();
      const value = yield* this.#next();
      if (isKey(key)) pairs.set(key, value);
    }
    return single('map', pairs);
  }

  #isGlanceDue(): boolean {
    this.#meter.steps(1);
    this.#meter.bytes(ITEM_BYTES);
    return isGlanceDue(++this.#read);
  }

  #isNested(): boolean {
    const mark = String.fromCharCode(this.#bytes[this.#at]!);
    return mark === '*' || mark === '~' || mark === '%' || mark === '>';
  }

  #item(): LuaValue {
    const mark = String.fromCharCode(this.#bytes[this.#at]!);
    return this.#leaf(mark, this.#line());
  }

  /** What stands behind the mark. */
  #line(): string {
    const end = this.#bytes.indexOf(LF, this.#at);
    const line = this.#bytes.toString('latin1', this.#at + 1, end - 1);
    this.#at = end + 1;
    return line;
  }

  #body(length: number): string {
    const start = this.#at;
    this.#at += length + 2;
    return this.#bytes.toString('latin1', start, start + length);
  }
}

function single(name: string, value: LuaValue): LuaTable {
  const table = new LuaTable();
  table.set(name, value);
  return table;
}

function verbatim(body: string): LuaTable {
  const table = new LuaTable();
  table.set('format', body.slice(0, 3));
  table.set('string', body.slice(4));
  return single('verbatim_string', table);
}

function doubleOf(text: string): number {
  if (text === 'inf') return Number.POSITIVE_INFINITY;
  return text === '-inf' ? Number.NEGATIVE_INFINITY : Number(text);
}

function isKey(value: LuaValue): boolean {
  return value !== undefined && !Number.isNaN(value);
}

/** A text's bytes in UTF-8, as scripts have strings. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

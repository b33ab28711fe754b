/** `cjson.decode`. Values within values wait on a list, not on the stack of JavaScript. */
import { LuaError } from '../values/error.ts';
import type { Meter } from '../values/function.ts';
import { LuaTable } from '../values/table.ts';
import { NULL } from '../values/userdata.ts';
import type { LuaValue } from '../values/value.ts';
import type { JsonSettings } from './json-settings.ts';
import { JsonTokens, type TokenKind } from './json-tokens.ts';

/** An object or a list that is being read. */
interface Open {
  readonly table: LuaTable;
  readonly isObject: boolean;
  /** Where the value that comes next belongs. */
  key: string | number;
}

const TABLE_BYTES = 64;

export class JsonDecoder {
  readonly #settings: JsonSettings;
  readonly #meter: Meter;
  readonly #tokens: JsonTokens;
  readonly #open: Open[] = [];

  constructor(data: string, settings: JsonSettings, meter: Meter) {
    if (data.length >= 2 && (data[0] === '\0' || data[1] === '\0')) {
      throw new LuaError('JSON parser does not support UTF-16 or UTF-32');
    }
    meter.steps(data.length);
    meter.bytes(data.length);
    this.#settings = settings;
    this.#meter = meter;
    this.#tokens = new JsonTokens(data, settings.decodeInvalid === 1);
  }

  decode(): LuaValue {
    this.#tokens.next();
    for (;;) {
      const value = this.#begin();
      const whole = value === undefined ? undefined : this.#store(value);
      if (whole !== undefined) return this.#end(whole);
    }
  }

  /** The value at hand; undefined: a container, at whose first value we are now. */
  #begin(): LuaValue {
    this.#meter.steps(4);
    const { kind, value } = this.#tokens;
    switch (kind) {
      case 'T_STRING':
      case 'T_NUMBER':
      case 'T_BOOLEAN':
        return value;
      case 'T_NULL':
        return NULL;
      case 'T_OBJ_BEGIN':
        return this.#descend(true);
      case 'T_ARR_BEGIN':
        return this.#descend(false);
      default:
        return this.#fail('value');
    }
  }

  /** The table where nothing is in it. */
  #descend(isObject: boolean): LuaTable | undefined {
    const depth = this.#open.length + 1;
    if (depth > this.#settings.decodeDepthMax) {
      const where = `at character ${this.#tokens.index + 1}`;
      throw new LuaError(`Found too many nested data structures (${depth}) ${where}`);
    }
    this.#meter.bytes(TABLE_BYTES);
    const open: Open = { table: new LuaTable(), isObject, key: 1 };
    this.#tokens.next();
    if (this.#isClosed(open)) return open.table;
    this.#open.push(open);
    if (isObject) this.#key(open);
    return undefined;
  }

  #isClosed(open: Open): boolean {
    return this.#tokens.kind === (open.isObject ? 'T_OBJ_END' : 'T_ARR_END');
  }

  /** From its name to the value. */
  #key(open: Open): void {
    this.#expect('T_STRING', 'object key string');
    open.key = this.#tokens.value as string;
    this.#tokens.next();
    this.#expect('T_COLON', 'colon');
    this.#tokens.next();
  }

  /** Into the containers that it ends; the outermost when all are through, else we are at a value. */
  #store(value: LuaValue): LuaValue {
    let stored = value;
    for (;;) {
      const open = this.#open.at(-1);
      if (open === undefined) return stored;
      this.#meter.bytes(open.table.set(open.key, stored));
      this.#tokens.next();
      if (!this.#isClosed(open)) {
        this.#separate(open);
        return undefined;
      }
      this.#open.pop();
      stored = open.table;
    }
  }

  #separate(open: Open): void {
    this.#expect('T_COMMA', open.isObject ? 'comma or object end' : 'comma or array end');
    this.#tokens.next();
    if (open.isObject) this.#key(open);
    else (open.key as number) += 1;
  }

  #end(value: LuaValue): LuaValue {
    this.#tokens.next();
    this.#expect('T_END', 'the end');
    return value;
  }

  #expect(kind: TokenKind, name: string): void {
    if (this.#tokens.kind !== kind) this.#fail(name);
  }

  #fail(expected: string): never {
    const { kind, value, index } = this.#tokens;
    const found = kind === 'T_ERROR' ? value : kind;
    throw new LuaError(`Expected ${expected} but found ${found} at character ${index + 1}`);
  }
}

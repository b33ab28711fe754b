/** `cmsgpack.unpack`. Values within values wait on a list, not on the stack of JavaScript. */
import { LuaError } from '../values/error.ts';
import type { Meter } from '../values/function.ts';
import { LuaTable } from '../values/table.ts';
import type { LuaValue } from '../values/value.ts';

/** A list or map of which so many values are still to come. */
interface Open {
  readonly table: LuaTable;
  readonly isMap: boolean;
  left: number;
  /** Of a list the next index; of a map the key that waits for its value. */
  key: LuaValue;
  hasKey: boolean;
}

const TABLE_BYTES = 64;
/** As deep as Lua's stack lets Redis go, or nearly. */
const DEPTH_MAX = 2_000;

export class MsgpackDecoder {
  position: number;
  readonly #data: string;
  readonly #bytes: Buffer;
  readonly #meter: Meter;
  readonly #open: Open[] = [];

  constructor(data: string, position: number, meter: Meter) {
    meter.steps(Math.floor(data.length / 16));
    this.#data = data;
    this.#bytes = Buffer.from(data, 'latin1');
    this.#meter = meter;
    this.position = position;
  }

  get left(): number {
    return this.#bytes.length - this.position;
  }

  /** The next value with all that is in it. */
  decode(): LuaValue {
    for (;;) {
      this.#meter.steps(4);
      let value = this.#begin();
      while (!this.#isOpened(value)) {
        const open = this.#open.at(-1);
        if (open === undefined) return value as LuaValue;
        this.#store(open, value as LuaValue);
        if (open.left > 0) break;
        this.#open.pop();
        value = open.table;
      }
    }
  }

  #isOpened(value: LuaValue | Open): value is Open {
    return value !== undefined && value === (this.#open.at(-1) as unknown);
  }

  #store(open: Open, value: LuaValue): void {
    if (open.isMap && !open.hasKey) {
      open.key = value;
      open.hasKey = true;
      return;
    }
    this.#meter.bytes(open.table.set(open.key, value));
    open.left--;
    if (open.isMap) open.hasKey = false;
    else (open.key as number) += 1;
  }

  /** A value, or a container that was put on the list. */
  #begin(): LuaValue | Open {
    const code = this.#unsigned(1);
    if (code < 0x80) return code;
    if (code < 0x90) return this.#container(true, code & 15);
    if (code < 0xa0) return this.#container(false, code & 15);
    if (code < 0xc0) return this.#string(code & 31);
    if (code >= 0xe0) return code - 256;
    return this.#coded(code);
  }

  #coded(code: number): LuaValue | Open {
    switch (code) {
      case 0xc0:
        return undefined;
      case 0xc2:
      case 0xc3:
        return code === 0xc3;
      case 0xca:
        return this.#bytes.readFloatBE(this.#take(4));
      case 0xcb:
        return this.#bytes.readDoubleBE(this.#take(8));
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#unsigned(1 << (code - 0xcc));
      case 0xd0:
      case 0xd1:
      case 0xd2: {
        const size = 1 << (code - 0xd0);
        return this.#bytes.readIntBE(this.#take(size), size);
      }
      // Redis gives the large ones of either kind a sign.
      case 0xcf:
      case 0xd3:
        return Number(this.#bytes.readBigInt64BE(this.#take(8)));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#string(this.#unsigned(1 << (code - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.#container(false, this.#unsigned(code === 0xdc ? 2 : 4));
      case 0xde:
      case 0xdf:
        return this.#container(true, this.#unsigned(code === 0xde ? 2 : 4));
      default:
        throw new LuaError('Bad data format in input.');
    }
  }

  #container(isMap: boolean, count: number): LuaTable | Open {
    if (this.#open.length >= DEPTH_MAX) {
      const where = `mp_decode_to_lua_${isMap ? 'hash' : 'array'}`;
      throw new LuaError(`stack overflow (in function ${where})`);
    }
    this.#meter.bytes(TABLE_BYTES);
    const table = new LuaTable();
    if (count === 0) return table;
    const open: Open = { table, isMap, left: count, key: isMap ? undefined : 1, hasKey: false };
    this.#open.push(open);
    return open;
  }

  #string(length: number): string {
    const at = this.#take(length);
    this.#meter.bytes(length);
    return this.#data.slice(at, at + length);
  }

  #unsigned(size: number): number {
    return this.#bytes.readUIntBE(this.#take(size), size);
  }

  /** Where they begin. */
  #take(count: number): number {
    if (this.left < count) throw new LuaError('Missing bytes in input.');
    const at = this.position;
    this.position += count;
    return at;
  }
}

/** What a script may set of `cjson`, for the rest of its run. */
import { type Meter, type NativeFunction, native } from '../values/function.ts';
import type { LuaValue } from '../values/value.ts';
import { type Args, checkInteger, checkText, refuse } from './arguments.ts';

const INT_MAX = 2 ** 31 - 1;

export class JsonSettings {
  /** Lists with many holes: whether they become objects, or are refused … */
  sparseIsObject = false;
  /** … from so many times as many places as values … */
  sparseRatio = 2;
  /** … if there are more places than this. */
  sparseSafe = 10;
  encodeDepthMax = 1000;
  decodeDepthMax = 1000;
  precision = 14;
  /** Has no effect here. */
  keepsBuffer = true;
  /** 0: NaN and the infinite are refused; 1: written as they are; 2: as null. */
  encodeInvalid = 0;
  /** 1: they are read, and hexadecimals too. */
  decodeInvalid = 1;
}

export type SettingsOf = (meter: Meter) => JsonSettings;

/** Settings by kind. */
type Whole = 'sparseRatio' | 'sparseSafe' | 'encodeDepthMax' | 'decodeDepthMax' | 'precision';
type Flag = 'sparseIsObject' | 'keepsBuffer';
type Choice = 'encodeInvalid' | 'decodeInvalid';

/** One call: what is given is set; what holds then is answered. */
class Setter {
  readonly #settings: JsonSettings;
  readonly #args: Args;
  readonly #name: string;
  readonly #meter: Meter;

  constructor(settings: JsonSettings, args: Args, name: string, meter: Meter) {
    this.#settings = settings;
    this.#args = args;
    this.#name = name;
    this.#meter = meter;
  }

  whole(at: number, key: Whole, least: number, most: number): number {
    if (this.#args[at - 1] !== undefined) {
      const value = checkInteger(this.#args, at, this.#name, this.#meter);
      if (value < least || value > most) {
        refuse(1, this.#name, `expected integer between ${least} and ${most}`);
      }
      this.#settings[key] = value;
    }
    return this.#settings[key];
  }

  /** A boolean, or its name. */
  flag(at: number, key: Flag): boolean {
    const value = this.#args[at - 1];
    if (typeof value === 'boolean') this.#settings[key] = value;
    else if (value !== undefined) {
      const name = checkText(this.#args, at, this.#name, this.#meter);
      if (name !== 'on' && name !== 'off') refuse(at, this.#name, `invalid option '${name}'`);
      this.#settings[key] = name === 'on';
    }
    return this.#settings[key];
  }

  /** By name, of which the first two are false and true as well. */
  choice(at: number, key: Choice, names: readonly string[]): LuaValue {
    const value = this.#args[at - 1];
    if (typeof value === 'boolean') this.#settings[key] = value ? 1 : 0;
    else if (value !== undefined) {
      const name = checkText(this.#args, at, this.#name, this.#meter);
      const index = names.indexOf(name);
      if (index < 0) refuse(at, this.#name, `invalid option '${name}'`);
      this.#settings[key] = index;
    }
    const chosen = this.#settings[key];
    return chosen < 2 ? chosen === 1 : names[chosen];
  }
}

function setting(
  settingsOf: SettingsOf,
  name: string,
  argumentsMax: number,
  run: (setter: Setter) => readonly LuaValue[],
): NativeFunction {
  return native(name, (args, meter) => {
    if (args.length > argumentsMax) refuse(argumentsMax + 1, name, 'found too many arguments');
    return run(new Setter(settingsOf(meter), args, name, meter));
  });
}

/** The functions that set them. */
export function settingFunctions(settingsOf: SettingsOf): Readonly<Record<string, NativeFunction>> {
  const of = (name: string, most: number, run: (setter: Setter) => readonly LuaValue[]) =>
    setting(settingsOf, name, most, run);
  return {
    decode_invalid_numbers: of('decode_invalid_numbers', 1, (setter) => [
      setter.choice(1, 'decodeInvalid', ['off', 'on']),
    ]),
    decode_max_depth: of('decode_max_depth', 1, (setter) => [
      setter.whole(1, 'decodeDepthMax', 1, INT_MAX),
    ]),
    encode_invalid_numbers: of('encode_invalid_numbers', 1, (setter) => [
      setter.choice(1, 'encodeInvalid', ['off', 'on', 'null']),
    ]),
    encode_keep_buffer: of('encode_keep_buffer', 1, (setter) => [setter.flag(1, 'keepsBuffer')]),
    encode_max_depth: of('encode_max_depth', 1, (setter) => [
      setter.whole(1, 'encodeDepthMax', 1, INT_MAX),
    ]),
    encode_number_precision: of('encode_number_precision', 1, (setter) => [
      setter.whole(1, 'precision', 1, 14),
    ]),
    encode_sparse_array: of('encode_sparse_array', 3, (setter) => [
      setter.flag(1, 'sparseIsObject'),
      setter.whole(2, 'sparseRatio', 0, INT_MAX),
      setter.whole(3, 'sparseSafe', 0, INT_MAX),
    ]),
  };
}

/** `cjson`: lua-cjson 2.1. */
import { type Library, native } from '../values/function.ts';
import { LuaTable } from '../values/table.ts';
import { NULL } from '../values/userdata.ts';
import { checkText, refuse } from './arguments.ts';
import { JsonDecoder } from './json-decoder.ts';
import { JsonEncoder } from './json-encoder.ts';
import { JsonSettings, type SettingsOf, settingFunctions } from './json-settings.ts';
import { perRun } from './per-run.ts';

export function cjsonLibrary(): Library {
  return library(perRun(() => new JsonSettings()));
}

function library(settingsOf: SettingsOf): Library {
  return {
    ...settingFunctions(settingsOf),
    _NAME: 'cjson',
    _VERSION: '2.1.0',
    decode: native('decode', (args, meter) => {
      if (args.length !== 1) refuse(1, 'decode', 'expected 1 argument');
      const data = checkText(args, 1, 'decode', meter);
      return [new JsonDecoder(data, settingsOf(meter), meter).decode()];
    }),
    encode: native('encode', (args, meter) => {
      if (args.length !== 1) refuse(1, 'encode', 'expected 1 argument');
      return [new JsonEncoder(settingsOf(meter), meter).encode(args[0])];
    }),
    new: native('new', (_args, meter) => {
      meter.steps(500);
      meter.bytes(4096);
      const settings = new JsonSettings();
      return [tableOf(library(() => settings))];
    }),
    null: NULL,
  };
}

function tableOf(values: Library): LuaTable {
  const table = new LuaTable();
  for (const [name, value] of Object.entries(values)) table.set(name, value);
  return table;
}

/** Functions from texts that a script makes. */
import { checkFunction, checkText, optionalText } from '../../library/arguments.ts';
import { compile } from '../../syntax/compile.ts';
import { LuaSyntaxError } from '../../syntax/syntax-error.ts';
import { LuaError } from '../../values/error.ts';
import {
  type Library,
  type LuaFunction,
  type LuaRun,
  type Meter,
  native,
} from '../../values/function.ts';
import { LuaClosure } from '../closure.ts';
import type { Values } from '../frame.ts';

/** A compiled text takes so much more than itself. */
const BYTES_PER_CHARACTER = 32;
const STEPS_PER_CHARACTER = 32;
const LENGTH_MAX = 2 ** 20;

const loadstring = native('loadstring', (args, meter) => {
  const source = checkText(args, 1, 'loadstring');
  return load(source, optionalText(args, 2, 'loadstring', source), meter);
});

function load(source: string, name: string, meter: Meter): Values {
  if (source.length > LENGTH_MAX) return [undefined, 'chunk is too long'];
  meter.steps(source.length * STEPS_PER_CHARACTER);
  meter.bytes(source.length * BYTES_PER_CHARACTER);
  try {
    return [new LuaClosure(compile(source, name), [])];
  } catch (failure) {
    if (!(failure instanceof LuaSyntaxError)) throw failure;
    return [undefined, failure.message];
  }
}

const loadFunction = native('load', (args, meter) => {
  const reader = checkFunction(args, 1, 'load');
  return loadPieces(reader, optionalText(args, 2, 'load', '=(load)'), meter);
});

/** The reader gives piece after piece, and nothing when there are no more. */
function* loadPieces(reader: LuaFunction, name: string, meter: Meter): LuaRun {
  const pieces: string[] = [];
  let length = 0;
  try {
    for (;;) {
      const [piece] = yield { kind: 'call', callee: reader, args: [] };
      if (piece === undefined || piece === '') break;
      if (typeof piece !== 'string' && typeof piece !== 'number') {
        return [undefined, 'reader function must return a string'];
      }
      pieces.push(String(piece));
      length += String(piece).length;
      meter.bytes(String(piece).length);
      if (length > LENGTH_MAX) break;
    }
  } catch (failure) {
    if (!(failure instanceof LuaError)) throw failure;
    return [undefined, failure.value];
  }
  return load(pieces.join(''), name, meter);
}

export const loading: Library = { loadstring, load: loadFunction };

/** FUNCTION LIST, STATS and DUMP: what a partition says of its libraries. */
import {
  allLibraries,
  functionFlags,
  type KeptLibrary,
  libraryCode,
  libraryTotals,
  type RegisteredFunction,
} from '../../encoding/scripts/kept-libraries.ts';
import { eachItem, type Slices } from '../../encoding/steps/slices.ts';
import type { View } from '../../encoding/txn/view.ts';
import { array, bulk, integer, NULL, type Reply } from '../../resp/reply.ts';
import { shownText, word } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';
import { type Glob, matchesGlob, patternArgument } from '../texts/glob.ts';
import { dumpLibraries } from './library-payload.ts';

type Pair = readonly [Reply, Reply];

export interface ListRequest {
  readonly pattern: Glob | undefined;
  readonly withCode: boolean;
}

const FIRST_OPTION_AT = 2;

export function parseList(args: readonly Buffer[]): ListRequest {
  let pattern: Glob | undefined;
  let withCode = false;
  for (let at = FIRST_OPTION_AT; at < args.length; at++) {
    const option = word(args[at]!);
    if (option === 'withcode' && !withCode) {
      withCode = true;
    } else if (option === 'libraryname' && pattern === undefined) {
      const given = args[++at];
      if (given === undefined) throw new ArgumentError('ERR library name argument was not given');
      pattern = patternArgument(lowerCase(given));
    } else {
      throw new ArgumentError(`ERR Unknown argument ${shownText(args[at]!)}`);
    }
  }
  return { pattern, withCode };
}

export function* runList(view: View, { pattern, withCode }: ListRequest): Slices<Reply> {
  const found: KeptLibrary[] = [];
  yield* allLibraries((library) => {
    const isMeant = pattern === undefined || matchesGlob(pattern, lowerCase(library.name));
    if (isMeant) found.push(library);
  });
  const items: Reply[] = [];
  yield* eachItem(found, (library) => {
    const code = withCode ? libraryCode(view, library.name)! : undefined;
    items.push(listed(library, code));
  });
  return array(items);
}

/** Patterns do not tell cases apart here. */
function lowerCase(text: Buffer | string): Buffer {
  return Buffer.from(
    text.toString('latin1').replace(/[A-Z]+/g, (upper) => upper.toLowerCase()),
    'latin1',
  );
}

function listed({ name, functions }: KeptLibrary, code: Buffer | undefined): Reply {
  const pairs: Pair[] = [
    [bulk('library_name'), bulk(name)],
    [bulk('engine'), bulk('LUA')],
    [bulk('functions'), array(functions.map(listedFunction))],
  ];
  if (code !== undefined) pairs.push([bulk('library_code'), bulk(code)]);
  return { kind: 'map', pairs };
}

function listedFunction({ name, description, flags }: RegisteredFunction): Reply {
  const names = Object.entries(functionFlags).flatMap(([text, bit]) =>
    (flags & bit) === 0 ? [] : [{ kind: 'simple', text } as const],
  );
  return {
    kind: 'map',
    pairs: [
      [bulk('name'), bulk(name)],
      [bulk('description'), description === undefined ? NULL : bulk(description)],
      [bulk('flags'), { kind: 'set', items: names }],
    ],
  };
}

/** None runs when it is asked: a call is one step of its partition. */
export function runStats(view: View): Reply {
  const { libraries, functions } = libraryTotals(view);
  const counts: Pair[] = [
    [bulk('libraries_count'), integer(libraries)],
    [bulk('functions_count'), integer(functions)],
  ];
  const engines: Pair[] = [[bulk('LUA'), { kind: 'map', pairs: counts }]];
  return {
    kind: 'map',
    pairs: [
      [bulk('running_script'), NULL],
      [bulk('engines'), { kind: 'map', pairs: engines }],
    ],
  };
}

export function* runDump(view: View): Slices<Reply> {
  const names: string[] = [];
  yield* allLibraries(({ name }) => names.push(name));
  const codes: Buffer[] = [];
  yield* eachItem(names, (name) => {
    codes.push(libraryCode(view, name)!);
  });
  return bulk(yield* dumpLibraries(codes));
}

/** LCS: what two strings have in common. */
import { limits } from '../../../common/limits.ts';
import { eachItem, type Slices } from '../../encoding/steps/slices.ts';
import {
  type CommonRun,
  longestCommon,
  longestCommonTableBytes,
} from '../../encoding/strings/longest-common.ts';
import { readString } from '../../encoding/strings/string.ts';
import type { View } from '../../encoding/txn/view.ts';
import { array, bulk, error, integer, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { argument, countArgument, syntaxError, word } from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import {
  ArgumentError,
  type Command,
  type RunContext,
  type RunResult,
  read,
} from '../rows/command.ts';
import { late, lateReply } from '../rows/late-error.ts';

interface LcsRequest {
  readonly a: Buffer;
  readonly b: Buffer;
  /** Told what is wrong with them only after both keys hold strings, as Redis does. */
  readonly options: LcsOptions | ArgumentError;
}

interface LcsOptions {
  readonly want: 'bytes' | 'length' | 'runs';
  readonly lengthMin: number;
  readonly withLength: boolean;
}

const NOT_STRINGS = error('ERR The specified keys must contain string values');
const TOO_MUCH_MEMORY = error(
  'ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len',
);

/** LCS key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN] */
function parseLcs(args: readonly Buffer[]): LcsRequest {
  return { a: argument(args, 1), b: argument(args, 2), options: late(() => parseLcsOptions(args)) };
}

function parseLcsOptions(args: readonly Buffer[]): LcsOptions {
  let [length, runs, withLength] = [false, false, false];
  let lengthMin = 0;
  for (let at = 3; at < args.length; at++) {
    const option = word(argument(args, at));
    if (option === 'idx') runs = true;
    else if (option === 'len') length = true;
    else if (option === 'withmatchlen') withLength = true;
    else if (option === 'minmatchlen' && at + 1 < args.length) {
      lengthMin = Math.max(0, countArgument(argument(args, ++at)));
    } else throw syntaxError();
  }
  if (length && runs) {
    throw new ArgumentError('ERR If you want both the length and indexes, please just use IDX.');
  }
  const want = runs ? 'runs' : length ? 'length' : 'bytes';
  return { want, lengthMin, withLength };
}

function runLcs(view: View, request: LcsRequest, { nowMs }: RunContext): RunResult {
  const a = readString(view, request.a, nowMs) ?? Buffer.alloc(0);
  const b = readString(view, request.b, nowMs) ?? Buffer.alloc(0);
  if (a === 'wrong-type' || b === 'wrong-type') return NOT_STRINGS;
  const { options } = request;
  if (options instanceof ArgumentError) return lateReply(options);
  if (longestCommonTableBytes(a, b) > limits.lcsBytesMax) return TOO_MUCH_MEMORY;
  return atOnce(runLongest(a, b, options));
}

function* runLongest(a: Buffer, b: Buffer, options: LcsOptions): Slices<Reply> {
  const { bytes, runs } = yield* longestCommon(a, b);
  if (options.want === 'bytes') return bulk(bytes);
  if (options.want === 'length') return integer(bytes.length);
  const matches = new ReplyPile('array', 'a larger MINMATCHLEN, or LEN');
  yield* eachItem(runs, (run) => {
    if (run.length >= options.lengthMin) matches.add(runReply(run, options.withLength));
  });
  return {
    kind: 'map',
    pairs: [
      [bulk('matches'), matches.reply()],
      [bulk('len'), integer(bytes.length)],
    ],
  };
}

function runReply(run: CommonRun, withLength: boolean): Reply {
  const ranges = [run.a, run.b].map(([first, last]) => array([integer(first), integer(last)]));
  return array(withLength ? [...ranges, integer(run.length)] : ranges);
}

export const stringCommonCommands: readonly Command[] = [
  read({
    name: 'lcs',
    arity: -3,
    flags: ['readonly'],
    keys: { first: 1, last: 2, step: 1 },
    gathers: ['string'],
    categories: ['string'],
    group: 'string',
    since: '7.0.0',
    summary: 'Finds the longest common substring.',
    parse: parseLcs,
    run: runLcs,
  }),
];

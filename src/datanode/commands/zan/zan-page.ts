/** What ZanRedisDB's walks are told of their pages, behind type, key or table, and cursor. */
import { argument, countArgument, SYNTAX_ERROR, syntaxError, word } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';
import { type Glob, patternArgument } from '../texts/glob.ts';

const COUNT = 100;
const OPTIONS_AT = 4;

export interface PageOptions {
  readonly reverse: boolean;
  readonly count: number;
  readonly glob: Glob | undefined;
}

/** `[REV] [MATCH pattern] [COUNT count]`; no page has more than `countMax`. Throws ArgumentError. */
export function pageOptions(
  args: readonly Buffer[],
  countMax: number,
  mayReverse = true,
): PageOptions {
  let reverse = false;
  let count = COUNT;
  let glob: Glob | undefined;
  for (let at = OPTIONS_AT; at < args.length; at++) {
    const option = word(argument(args, at));
    if (option === 'rev' && mayReverse) {
      reverse = true;
      continue;
    }
    if (at + 1 >= args.length) throw syntaxError();
    const value = argument(args, ++at);
    if (option === 'count') count = countArgument(value);
    else if (option === 'match') glob = patternArgument(value);
    else throw syntaxError();
    if (count < 1) throw new ArgumentError(SYNTAX_ERROR);
  }
  return { reverse, count: Math.min(count, countMax), glob };
}

/** Rows of commands that look at the node itself, without keys: one shape for all of them. */
import { error, type Reply } from '../../resp/reply.ts';
import { SYNTAX_ERROR } from './args.ts';
import { type Command, type CommandFlag, NO_KEYS, type NodeCommand, node } from './command.ts';
import { helpReply } from './help.ts';

export type Run = NodeCommand['run'];

export function serverRow(
  name: string,
  arity: number,
  flags: readonly CommandFlag[],
  since: string,
  summary: string,
  run: Run,
  categories: readonly string[] = [],
): NodeCommand {
  return node({
    name,
    arity,
    flags,
    keys: NO_KEYS,
    categories,
    group: 'server',
    since,
    summary,
    run,
  });
}

export type Subcommand = readonly [
  name: string,
  arity: number,
  since: string,
  summary: string,
  run: Run,
];

/** A command that is only its subcommands, all with the same flags, those in `rest`, and HELP. */
export function container(
  name: string,
  since: string,
  summary: string,
  flags: readonly CommandFlag[],
  subs: readonly Subcommand[],
  rest: readonly Command[] = [],
): NodeCommand {
  const own = subs.map(([sub, arity, subSince, text, run]) =>
    serverRow(`${name}|${sub}`, arity, flags, subSince, text, run),
  );
  const rows: Command[] = [...rest, ...own];
  rows.push(
    serverRow(`${name}|help`, 2, ['loading', 'stale'], since, 'Lists the subcommands.', () =>
      helpReply(name, rows),
    ),
  );
  const refuse: Run = () => error(SYNTAX_ERROR);
  return { ...serverRow(name, -2, [], since, summary, refuse), subcommands: rows };
}

/** Redis's text for a subcommand with more words than it takes. */
export function wrongShape(args: readonly Buffer[]): Reply {
  const [name, subcommand] = args.slice(0, 2).map((arg) => arg.toString('utf8', 0, SHOWN_MAX));
  return error(
    `ERR unknown subcommand or wrong number of arguments for '${subcommand}'. ` +
      `Try ${name?.toUpperCase()} HELP.`,
  );
}

const SHOWN_MAX = 128;

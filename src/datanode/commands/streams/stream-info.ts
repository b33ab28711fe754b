/** XINFO: what streams, their groups and consumers are. */
import { error } from '../../resp/reply.ts';
import { SYNTAX_ERROR } from '../rows/args.ts';
import { type Command, NO_KEYS, node, read } from '../rows/command.ts';
import { helpReply } from '../rows/help.ts';
import { NOT_YET, SECOND_KEY, streamColumn } from './stream-rows.ts';

const infoRows: readonly Command[] = [
  read({
    ...streamColumn,
    name: 'xinfo|consumers',
    arity: 4,
    flags: ['readonly'],
    keys: SECOND_KEY,
    since: '5.0.0',
    summary: 'Returns the consumers of a group.',
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  read({
    ...streamColumn,
    name: 'xinfo|groups',
    arity: 3,
    flags: ['readonly'],
    keys: SECOND_KEY,
    since: '5.0.0',
    summary: 'Returns the consumer groups of a stream.',
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  read({
    ...streamColumn,
    name: 'xinfo|stream',
    arity: -3,
    flags: ['readonly'],
    keys: SECOND_KEY,
    since: '5.0.0',
    summary: 'Returns what there is to know of a stream.',
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  node({
    ...streamColumn,
    name: 'xinfo|help',
    arity: 2,
    flags: ['loading', 'stale'],
    keys: NO_KEYS,
    since: '5.0.0',
    summary: 'Lists the subcommands.',
    run: () => helpReply('xinfo', infoRows),
  }),
];

export const streamInfoCommands: readonly Command[] = [
  node({
    ...streamColumn,
    name: 'xinfo',
    categories: [],
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    since: '5.0.0',
    summary: 'A container for commands that look into streams.',
    subcommands: infoRows,
    run: () => error(SYNTAX_ERROR),
  }),
];

/** XGROUP: consumer groups of streams. */
import { error } from '../../resp/reply.ts';
import { SYNTAX_ERROR } from '../rows/args.ts';
import { type Command, NO_KEYS, node, write } from '../rows/command.ts';
import { helpReply } from '../rows/help.ts';
import { fromStreams, NOT_YET, SECOND_KEY, streamColumn } from './stream-rows.ts';

const groupRows: readonly Command[] = [
  write({
    ...streamColumn,
    name: 'xgroup|create',
    arity: -5,
    flags: ['write', 'denyoom'],
    keys: SECOND_KEY,
    since: '5.0.0',
    summary: 'Creates a consumer group.',
    appliesFrom: fromStreams,
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  write({
    ...streamColumn,
    name: 'xgroup|createconsumer',
    arity: 5,
    flags: ['write', 'denyoom'],
    keys: SECOND_KEY,
    since: '6.2.0',
    summary: 'Creates a consumer in a group.',
    appliesFrom: fromStreams,
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  write({
    ...streamColumn,
    name: 'xgroup|delconsumer',
    arity: 5,
    flags: ['write'],
    keys: SECOND_KEY,
    since: '5.0.0',
    summary: 'Deletes a consumer and what is pending for it.',
    appliesFrom: fromStreams,
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  write({
    ...streamColumn,
    name: 'xgroup|destroy',
    arity: 4,
    flags: ['write'],
    keys: SECOND_KEY,
    since: '5.0.0',
    summary: 'Deletes a consumer group.',
    appliesFrom: fromStreams,
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  write({
    ...streamColumn,
    name: 'xgroup|setid',
    arity: -5,
    flags: ['write'],
    keys: SECOND_KEY,
    since: '5.0.0',
    summary: 'Sets the last ID that a group was given.',
    appliesFrom: fromStreams,
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  node({
    ...streamColumn,
    name: 'xgroup|help',
    arity: 2,
    flags: ['loading', 'stale'],
    keys: NO_KEYS,
    since: '5.0.0',
    summary: 'Lists the subcommands.',
    run: () => helpReply('xgroup', groupRows),
  }),
];

export const streamGroupCommands: readonly Command[] = [
  node({
    ...streamColumn,
    name: 'xgroup',
    categories: [],
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    since: '5.0.0',
    summary: 'A container for commands about consumer groups.',
    subcommands: groupRows,
    run: () => error(SYNTAX_ERROR),
  }),
];

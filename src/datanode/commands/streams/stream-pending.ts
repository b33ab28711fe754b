/** What consumers were given and have not acknowledged: XACK, XAUTOCLAIM, XCLAIM, XPENDING. */
import { type Command, read, write } from '../rows/command.ts';
import { fromStreams, NOT_YET, streamColumn } from './stream-rows.ts';

export const streamPendingCommands: readonly Command[] = [
  write({
    ...streamColumn,
    name: 'xack',
    arity: -4,
    flags: ['write', 'fast'],
    since: '5.0.0',
    summary: 'Acknowledges entries that a consumer of a group was given.',
    appliesFrom: fromStreams,
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  write({
    ...streamColumn,
    name: 'xautoclaim',
    arity: -6,
    flags: ['write', 'fast'],
    since: '6.2.0',
    summary: 'Gives a consumer what has been pending for long, and returns where to go on.',
    appliesFrom: fromStreams,
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  write({
    ...streamColumn,
    name: 'xclaim',
    arity: -6,
    flags: ['write', 'fast'],
    since: '5.0.0',
    summary: 'Gives a consumer entries that are pending, as if it had read them.',
    appliesFrom: fromStreams,
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  read({
    ...streamColumn,
    name: 'xpending',
    arity: -3,
    flags: ['readonly'],
    since: '5.0.0',
    summary: 'Returns what the consumers of a group were given and have not acknowledged.',
    parse: (args) => args,
    run: () => NOT_YET,
  }),
];

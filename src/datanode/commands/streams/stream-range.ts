/** Entries of streams by their IDs: XRANGE, XREVRANGE, XREAD. */
import { type Command, NO_KEYS, read } from '../rows/command.ts';
import { keysOfRead, NOT_YET, streamColumn } from './stream-rows.ts';

export const streamRangeCommands: readonly Command[] = [
  read({
    ...streamColumn,
    name: 'xrange',
    arity: -4,
    flags: ['readonly'],
    since: '5.0.0',
    summary: 'Returns the entries of a stream between two IDs.',
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  read({
    ...streamColumn,
    name: 'xrevrange',
    arity: -4,
    flags: ['readonly'],
    since: '5.0.0',
    summary: 'Returns the entries of a stream between two IDs, the last first.',
    parse: (args) => args,
    run: () => NOT_YET,
  }),
  read({
    ...streamColumn,
    name: 'xread',
    arity: -4,
    flags: ['readonly', 'blocking', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: keysOfRead,
    since: '5.0.0',
    summary: 'Returns the entries of streams behind given IDs, and waits for some if asked to.',
    parse: (args) => args,
    run: () => NOT_YET,
  }),
];

/** XREADGROUP: entries for a consumer of a group. */
import { type Command, NO_KEYS, write } from '../rows/command.ts';
import { fromStreams, keysOfRead, NOT_YET, streamColumn } from './stream-rows.ts';

export const streamReadGroupCommands: readonly Command[] = [
  write({
    ...streamColumn,
    name: 'xreadgroup',
    arity: -7,
    flags: ['write', 'blocking', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: keysOfRead,
    since: '5.0.0',
    summary:
      'Returns entries of streams for a consumer of a group, and waits for some if asked to.',
    appliesFrom: fromStreams,
    parse: (args) => args,
    run: () => NOT_YET,
  }),
];

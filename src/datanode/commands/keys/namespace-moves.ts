/** SWAPDB and MOVE: what Redis does between its databases and kvorum does not between namespaces. */
import { error } from '../../resp/reply.ts';
import { type Command, FIRST_KEY, NO_KEYS, node } from '../rows/command.ts';

const shape = {
  flags: ['write', 'fast'],
  group: 'server',
} as const;

export const namespaceMoveCommands: readonly Command[] = [
  node({
    ...shape,
    name: 'swapdb',
    arity: 3,
    keys: NO_KEYS,
    categories: ['keyspace', 'dangerous'],
    since: '4.0.0',
    summary: 'Refused: namespaces are not swapped.',
    run: () =>
      error(
        'ERR SWAPDB is not offered by this server: namespaces have names and partitions of their ' +
          'own, so none can take the place of another; connect to the other one with SELECT',
      ),
  }),
  node({
    ...shape,
    name: 'move',
    arity: 3,
    keys: FIRST_KEY,
    categories: ['keyspace'],
    group: 'generic',
    since: '1.0.0',
    summary: 'Refused: keys do not move between namespaces.',
    run: () =>
      error(
        'ERR MOVE is not offered by this server: namespaces have partitions of their own, and ' +
          'nothing is atomic over partitions; copy with DUMP and RESTORE, then delete',
      ),
  }),
];

/** DEBUG: what test suites of clients use; nothing that could hold or hurt other clients. */

import { findKey } from '../../encoding/keyspace/keyspace.ts';
import { encodeExpiryKey } from '../../encoding/records/key.ts';
import { error, OK, type Reply } from '../../resp/reply.ts';
import { encodingOf } from '../keys/object.ts';
import { argument, NO_SUCH_KEY } from '../rows/args.ts';
import { type Command, type CommandFlag, read } from '../rows/command.ts';
import { container, type Run, type Subcommand } from '../rows/server-row.ts';
import { witness } from './witness.ts';

const SLEEP_SECONDS_MAX = 60;

/** DEBUG SLEEP seconds: holds back this connection only. */
const sleep: Run = async (args, context) => {
  const seconds = Number(argument(args, 2).toString('latin1'));
  if (!Number.isFinite(seconds) || seconds < 0 || seconds > SLEEP_SECONDS_MAX) {
    return error(`ERR DEBUG SLEEP takes 0 to ${SLEEP_SECONDS_MAX} seconds`);
  }
  await context.sleep(seconds * 1_000);
  return OK;
};

/** DEBUG SET-ACTIVE-EXPIRE 0 | 1: whether keys that nobody reads are deleted when they are due. */
const setActiveExpire: Run = (args, context) => {
  const value = argument(args, 2).toString('latin1');
  if (value !== '0' && value !== '1') return error('ERR DEBUG SET-ACTIVE-EXPIRE takes 0 or 1');
  context.setActiveExpire(value === '1');
  return OK;
};

const flags: readonly CommandFlag[] = ['admin', 'noscript', 'loading', 'stale'];

const INDEX_BYTES = 5;

/** DEBUG OBJECT key: as Redis's line; the length is that of its records in the engine. */
const object: Command = read({
  name: 'debug|object',
  arity: 3,
  flags: ['readonly', 'admin', 'noscript'],
  keys: { first: 2, last: 2, step: 1 },
  categories: [],
  group: 'server',
  since: '1.0.0',
  summary: 'Tells how a value is stored.',
  singlePoint: true,
  parse: (args) => argument(args, 2),
  run: (view, key, { nowMs }): Reply => {
    const found = findKey(view, key, nowMs);
    const { place, live } = found;
    if (live === undefined) return NO_SUCH_KEY;
    const index = live.deadlineMs > 0 ? encodeExpiryKey(live.deadlineMs, key).length : 0;
    const bytes = place.length + live.body.length + (index > 0 ? index + INDEX_BYTES : 0);
    const text =
      `Value at:0x${place.toString('hex', 0, 8)} refcount:1 encoding:${encodingOf(found, live)} ` +
      `serializedlength:${bytes} lru:0 lru_seconds_idle:0`;
    return { kind: 'simple', text };
  },
});

const subcommands: readonly Subcommand[] = [
  ['sleep', 3, '1.0.0', 'Holds back this connection for seconds.', sleep],
  [
    'set-active-expire',
    3,
    '1.0.0',
    'Lets this node delete keys that nobody reads when they are due, or not.',
    setActiveExpire,
  ],
  ['witness', 3, '0.1.0', 'Tells which log entries this connection’s commands were.', witness],
];
const summary = 'A container for debugging commands.';

export const debugCommands: readonly Command[] = [
  { ...container('debug', '1.0.0', summary, flags, subcommands, [object]), flags },
];

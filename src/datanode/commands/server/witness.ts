/**
 * DEBUG WITNESS: which entries of which groups' logs a connection's commands were, or what its reads
 * saw, for whoever judges what a cluster answered (`test/linearizability/replay.ts`). Nothing is
 * kept, nor sent between nodes, for connections that have not asked.
 */
import type { GroupId, LogIndex, Term } from '../../../common/ids.ts';
import { array, bulk, error, integer, OK, type Reply } from '../../resp/reply.ts';
import { argument } from '../rows/args.ts';
import type { Session } from '../rows/node-context.ts';
import type { Run } from '../rows/server-row.ts';

/** Where in its group's log a command took effect, or what of it a read has seen. */
export interface Witness {
  readonly term: Term;
  /** Of a write its entry; of a read the last entry that it has seen for certain. */
  readonly index: LogIndex;
  /** Of a read the last entry that it may have seen; of a write `index`. */
  readonly upTo: LogIndex;
  /** Which command of the entry it is, from 0; of a read -1. */
  readonly at: number;
}

export interface GroupWitness extends Witness {
  readonly group: GroupId;
}

/** Kept for a connection that does not take them; then the oldest go. */
const KEPT_MAX = 1_024;

export function noteWitness({ witnesses }: Session, group: GroupId, witness: Witness): void {
  if (witnesses === undefined) return;
  if (witnesses.length === KEPT_MAX) witnesses.shift();
  const { term, index, upTo, at } = witness;
  witnesses.push({ group, term, index, upTo, at });
}

/**
 * DEBUG WITNESS ON | OFF | TAKE. TAKE answers what the connection's commands have left since the last
 * one, in the order of their answers, at each partition one; a command whose entry nobody knows (the
 * reply was kept from an earlier try, a client was served after a wait) leaves none.
 */
export const witness: Run = (args, { session }) => {
  switch (argument(args, 2).toString('latin1').toUpperCase()) {
    case 'ON':
      session.witnesses ??= [];
      return OK;
    case 'OFF':
      session.witnesses = undefined;
      return OK;
    case 'TAKE':
      if (session.witnesses === undefined) return NOT_ON;
      return array(session.witnesses.splice(0).map(shown));
    default:
      return error('ERR DEBUG WITNESS takes ON, OFF or TAKE');
  }
};

const NOT_ON = error('ERR this connection keeps no witnesses: ask for them with DEBUG WITNESS ON');

function shown({ group, term, index, upTo, at }: GroupWitness): Reply {
  const fields = Object.entries({ group, term, index, 'up-to': upTo, at });
  return { kind: 'map', pairs: fields.map(([name, value]) => [bulk(name), integer(value)]) };
}

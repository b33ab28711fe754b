/**
 * An index and a term name one entry, with one and the same entry before it, in every log (log
 * matching); a leader only ever appends to its log (leader append-only). Of entries that are not
 * applied yet: the log checker compares those that are.
 */
import { crc32 } from '../../../src/common/checksum.ts';
import type { LogIndex, Term } from '../../../src/common/ids.ts';
import { type Checker, type Observed, Violation } from './checker.ts';

interface Known {
  readonly previousTerm: Term;
  readonly sum: number;
}

interface Led {
  readonly term: Term;
  readonly last: LogIndex;
  readonly lastTerm: Term;
}

export function matchingChecker(): Checker {
  const entries = new Map<string, Known>();
  const led = new WeakMap<object, Led>();

  const checkMatching = ({ group, replica, node }: Observed) => {
    const { log } = replica.inspect();
    const from = Math.max(log.firstIndex(), replica.appliedIndex + 1);
    const tail = log.entries(from, log.lastIndex() + 1, Number.MAX_SAFE_INTEGER);
    if (tail === 'compacted') return;
    let previousTerm = log.term(from - 1);
    for (const { index, term, kind, data } of tail) {
      if (typeof previousTerm === 'number') {
        const sum = crc32(data, crc32(Buffer.from(kind)));
        const key = `${group} ${term}/${index}`;
        const known = entries.get(key) ?? { previousTerm, sum };
        entries.set(key, known);
        if (known.sum !== sum || known.previousTerm !== previousTerm) {
          const text = `group ${group}: ${node} has another entry ${term}/${index} than was seen`;
          throw new Violation('matching', text);
        }
      }
      previousTerm = term;
    }
  };

  const checkAppendOnly = ({ group, replica, node }: Observed) => {
    const { raft, log } = replica.inspect();
    const before = led.get(replica);
    const last = log.lastIndex();
    const lastTerm = log.term(last);
    if (raft.role !== 'leader' || typeof lastTerm !== 'number') {
      led.delete(replica);
      return;
    }
    led.set(replica, { term: raft.term, last, lastTerm });
    if (before?.term !== raft.term) return;
    const now = log.term(before.last);
    // What was compacted since was committed.
    if (last >= before.last && (now === before.lastTerm || now === 'compacted')) return;
    const text = `group ${group}: ${node} leads term ${raft.term}, and its entry ${before.last} of term ${before.lastTerm} is ${now}`;
    throw new Violation('matching', text);
  };

  return {
    name: 'matching',
    onMoved(observed) {
      checkMatching(observed);
      checkAppendOnly(observed);
    },
  };
}

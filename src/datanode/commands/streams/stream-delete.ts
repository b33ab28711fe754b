/** Entries that are deleted with regard to who has them pending: XDELEX, XACKDEL. */
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import type { StreamId } from '../../encoding/records/stream-id.ts';
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import { type OpenStream, openFound, saveStream } from '../../encoding/streams/stream.ts';
import { Deliveries } from '../../encoding/streams/stream-deliveries.ts';
import { deleteEntry, findFirst, hasEntry } from '../../encoding/streams/stream-entries.ts';
import { readGroup } from '../../encoding/streams/stream-groups.ts';
import { type PendingFate, References } from '../../encoding/streams/stream-references.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { array, integer, type Reply } from '../../resp/reply.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import { argument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
import { type Command, type RunContext, type RunResult, write } from '../rows/command.ts';
import { idArgument } from './stream-args.ts';
import { countOfIds, isFateWord } from './stream-fates.ts';
import { streamColumn } from './stream-rows.ts';

interface Delete {
  readonly key: Buffer;
  /** XACKDEL: the group in which they are acknowledged before. */
  readonly group: Buffer | undefined;
  readonly fate: PendingFate;
  readonly ids: readonly StreamId[];
}

/** What became of an entry, as both commands say it. */
const outcomes = { notThere: -1, deleted: 1, needed: 2 } as const;
type Outcome = (typeof outcomes)[keyof typeof outcomes];

/**
 * XDELEX key [KEEPREF | DELREF | ACKED] IDS numids id [id ...], and XACKDEL with a group behind the key, as
 * Redis 8.2 has them (redis.io, XDELEX, XACKDEL). IDS may stand before the word.
 */
function parseDelete(hasGroup: boolean): (args: readonly Buffer[]) => Delete {
  return (args) => {
    let fate: PendingFate | undefined;
    let ids: readonly Buffer[] | undefined;
    for (let at = hasGroup ? 3 : 2; at < args.length; ) {
      const option = word(argument(args, at));
      if (isFateWord(option) && fate === undefined) {
        fate = option;
        at++;
      } else if (option === 'ids' && ids === undefined && at + 1 < args.length) {
        const end = at + 2 + countOfIds(args, at + 1);
        ids = args.slice(at + 2, end);
        at = end;
      } else {
        throw syntaxError();
      }
    }
    if (ids === undefined) throw syntaxError();
    return {
      key: argument(args, 1),
      group: hasGroup ? argument(args, 2) : undefined,
      fate: fate ?? 'keepref',
      ids: ids.map((id) => idArgument(id)),
    };
  };
}

function runDelete(view: WriteView, request: Delete, { nowMs }: RunContext): RunResult {
  const stream = openFound(findKey(view, request.key, nowMs));
  if (stream === 'wrong-type') return WRONG_TYPE;
  const group = stream && request.group && readGroup(view, stream, request.group);
  if (stream === undefined || (request.group !== undefined && group === undefined)) {
    return array(request.ids.map(() => integer(outcomes.notThere)));
  }
  return deleteAll(view, stream, group && new Deliveries(view, stream, group), request);
}

function* deleteAll(
  view: WriteView,
  stream: OpenStream,
  acknowledging: Deliveries | undefined,
  { fate, ids }: Delete,
): Slices<Reply> {
  const references =
    fate === 'keepref' ? undefined : yield* References.of(view, stream, acknowledging);
  const deleting = new Deleting(view, stream, fate, references);
  const told: Reply[] = [];
  let acknowledged = 0;
  for (const id of ids) {
    if (isGlanceDue(told.length + 1)) yield GLANCE;
    const pending = acknowledging?.pendingAt(id);
    if (pending !== undefined) {
      acknowledging!.drop(id, pending);
      acknowledged++;
    }
    const isToGo = acknowledging === undefined || pending !== undefined;
    const outcome = isToGo ? yield* deleting.delete(id) : outcomes.notThere;
    // what was acknowledged is gone, also where there was no entry any more
    const isGone = pending !== undefined && outcome === outcomes.notThere;
    told.push(integer(isGone ? outcomes.deleted : outcome));
  }
  yield* deleting.end();
  if (acknowledged > 0) {
    yield* acknowledging!.findEarliest();
    acknowledging!.save();
  }
  return array(told);
}

class Deleting {
  readonly #view: WriteView;
  readonly #stream: OpenStream;
  readonly #fate: PendingFate;
  readonly #references: References | undefined;
  readonly #before: number;

  constructor(
    view: WriteView,
    stream: OpenStream,
    fate: PendingFate,
    references: References | undefined,
  ) {
    this.#view = view;
    this.#stream = stream;
    this.#fate = fate;
    this.#references = references;
    this.#before = stream.size;
  }

  *delete(id: StreamId): Slices<Outcome> {
    const { notThere, deleted, needed } = outcomes;
    if (this.#fate === 'acked') {
      if (!hasEntry(this.#view, this.#stream, id)) return notThere;
      if (yield* this.#references!.isNeeded(id)) return needed;
    }
    // of what is gone from the stream as well
    if (this.#fate === 'delref') yield* this.#references!.drop(id);
    return deleteEntry(this.#view, this.#stream, id) ? deleted : notThere;
  }

  *end(): Slices<void> {
    if (this.#references !== undefined) yield* this.#references.save();
    const stream = this.#stream;
    if (stream.size === this.#before) return;
    yield* findFirst(this.#view, stream);
    saveStream(this.#view, stream);
    this.#view.notify?.('stream', 'xdel', stream.found.key);
  }
}

const column = {
  ...streamColumn,
  flags: ['write', 'fast'],
  since: '8.2.0',
  appliesFrom: () => applyVersions.redis84,
} as const;

export const streamDeleteCommands: readonly Command[] = [
  write({
    ...column,
    name: 'xdelex',
    arity: -5,
    summary:
      'Deletes entries of a stream, and says what becomes of what groups have pending of them.',
    parse: parseDelete(false),
    run: runDelete,
  }),
  write({
    ...column,
    name: 'xackdel',
    arity: -6,
    summary: 'Acknowledges entries of a group, and deletes them from its stream.',
    parse: parseDelete(true),
    run: runDelete,
  }),
];

/**
 * Clients that wait for entries of streams which others may read as well (XREAD BLOCK), in the memory of
 * a partition's leader. Nothing is taken, so nothing is logged or kept: each is read for once behind a
 * round that confirms the leader, and again when what was applied has changed one of its keys. Requests
 * that are alike are read for once, whoever sent them. `$` is made an ID by the first read, and the client
 * asks again with that: whoever leads then reads behind it, so that nothing in between is missed.
 */
import type { ErrorCode } from '../../../common/errors.ts';
import type { ReadRun } from '../../commands/rows/command.ts';
import { encodeKey, isRecordKey } from '../../encoding/records/key.ts';
import type { StreamId } from '../../encoding/records/stream-id.ts';
import type { ChangeSet } from '../../encoding/txn/change-set.ts';
import { encodeReply } from '../../resp/encode-reply.ts';
import type { Protocol, Reply } from '../../resp/reply.ts';
import type { CommandLine, LineResult } from '../entries/batch.ts';
import type { WaitOutcome, WaitRequest } from '../entries/wait.ts';
import {
  concreteIds,
  firstRun,
  meansLast,
  partOf,
  type ReadingRequest,
  readingRequest,
} from './reading-request.ts';
import { failed, memoryBytes, refusalOfMore } from './waiting-room.ts';

/** A read that a reader asks of its replica. */
export interface ReaderRead {
  readonly line: CommandLine;
  readonly run: ReadRun;
  readonly protocol: Protocol;
}

export interface ReaderGround {
  /** Behind a round that confirms the leader. */
  read(read: ReaderRead): Promise<LineResult>;
  /** Of what is applied here; for who was read for behind a round before. */
  readAgain(read: ReaderRead): Promise<LineResult>;
  /** The stream may have entries behind the ID. */
  mayHaveBehind(key: Buffer, id: StreamId): boolean;
  /** The partition is being emptied: nothing may be looked at. */
  clearing(): boolean;
  requestTurn(): void;
}

interface Reader {
  /** The newest under its id. */
  request: WaitRequest;
  /** Undefined while it is read for the first time, and when it has its answer. */
  alike: Alike | undefined;
  withdrawn: boolean;
  /** That it takes in memory. */
  readonly bytes: number;
  resolve: (outcome: WaitOutcome) => void;
}

/** Requests of which one has something when another has. */
interface Alike {
  readonly name: string;
  readonly protocol: Protocol;
  readonly asked: ReadingRequest;
  readonly ids: readonly StreamId[];
  readonly readers: Set<Reader>;
  /** Those of them who wait for no more than what is looked at now. */
  readonly leaving: Set<Reader>;
  isRead: boolean;
  /** One of its keys was changed since that began. */
  again: boolean;
}

interface Answer {
  readonly reader: Reader;
  readonly outcome: WaitOutcome;
}

/** Looks are reads of the engine; an answer takes a client's node some 20 µs. */
const LOOKS_PER_TURN = 128;
const ANSWERS_PER_TURN = 128;
/** What they come to is in memory at once. */
const READS_AT_ONCE = 16;
const WITHDRAWN: WaitOutcome = { kind: 'withdrawn' };

const nameOf = (bytes: Buffer) => bytes.toString('latin1');

export class StreamReaders {
  readonly #ground: ReaderGround;
  readonly #byId = new Map<string, Reader>();
  readonly #alike = new Map<string, Alike>();
  /** By the engine keys of their keys' records. */
  readonly #byPlace = new Map<string, Set<Alike>>();
  /** Their keys may have something for them. */
  readonly #due = new Set<Alike>();
  #answers: Answer[] = [];
  #answered = 0;
  #reads = 0;
  #bytes = 0;

  constructor(ground: ReaderGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#byId.size;
  }

  /** That they take in memory, near enough. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Different ones of those that wait. */
  get kinds(): number {
    return this.#alike.size;
  }

  /** There is something for `work` to do in this turn. */
  get isDue(): boolean {
    return this.#answers.length > 0 || (this.#due.size > 0 && this.#reads < READS_AT_ONCE);
  }

  ask(request: WaitRequest): Promise<WaitOutcome> {
    const known = this.#byId.get(nameOf(request.id));
    if (known !== undefined) return this.#takeOver(known, request);
    // nothing is kept of those that were served
    if (request.withdraw) return Promise.resolve(WITHDRAWN);
    const asked = readingRequest(request.line);
    if (asked === undefined) {
      return Promise.resolve(failed('BAD_FRAME', 'this is no command that waits by reading'));
    }
    const refusal = refusalOfMore(this.#byId.size, this.#bytes);
    if (refusal !== undefined) return Promise.resolve(refusal);
    return new Promise((resolve) => {
      const bytes = memoryBytes(request);
      const reader: Reader = { request, alike: undefined, withdrawn: false, bytes, resolve };
      this.#byId.set(nameOf(request.id), reader);
      this.#bytes += bytes;
      void this.#readFirst(reader, asked);
    });
  }

  /** Whoever sent the request has gone; no effect when it was asked again since. */
  leave(request: WaitRequest): void {
    const reader = this.#byId.get(nameOf(request.id));
    if (reader?.request === request) this.#end(reader, WITHDRAWN);
  }

  /** A batch is in the engine. */
  onChanged(changed: ChangeSet): void {
    if (this.#byPlace.size === 0) return;
    if (changed.elements === undefined) {
      for (const { key, after } of changed.all()) {
        if (after !== undefined && isRecordKey(key)) this.#onPut(nameOf(key));
      }
    } else {
      for (const place of this.#byPlace.keys()) {
        if (changed.get(place)?.after !== undefined) this.#onPut(place);
      }
    }
    if (this.isDue) this.#ground.requestTurn();
  }

  /** What a turn has time for of what is due. */
  work(): void {
    this.#answered = 0;
    this.#giveAnswers();
    if (this.#ground.clearing()) return;
    let looks = 0;
    for (const alike of this.#due) {
      if (looks++ >= LOOKS_PER_TURN || this.#reads >= READS_AT_ONCE) break;
      this.#due.delete(alike);
      this.#lookAt(alike);
    }
    if (this.isDue) this.#ground.requestTurn();
  }

  /** Leadership is gone, or the replica stops: they ask again elsewhere. */
  failAll(code: ErrorCode, message: string): void {
    for (const reader of [...this.#byId.values()]) this.#end(reader, failed(code, message));
    this.#answers = [];
    this.#due.clear();
  }

  #takeOver(known: Reader, request: WaitRequest): Promise<WaitOutcome> {
    known.resolve({ kind: 'superseded' });
    const outcome = new Promise<WaitOutcome>((resolve) => {
      known.resolve = resolve;
    });
    known.request = request;
    known.withdrawn = request.withdraw;
    const { alike } = known;
    if (alike === undefined) return outcome;
    if (!request.withdraw) alike.leaving.delete(known);
    else if (alike.isRead || this.#due.has(alike)) alike.leaving.add(known);
    else this.#end(known, WITHDRAWN);
    return outcome;
  }

  async #readFirst(reader: Reader, asked: ReadingRequest): Promise<void> {
    const { line, protocol } = reader.request;
    let concrete = line;
    const run = firstRun(asked, (told) => {
      concrete = told;
    });
    const result = await this.#ground.read({ line, run, protocol });
    if (this.#byId.get(nameOf(reader.request.id)) !== reader) return;
    const outcome = outcomeOf(result);
    if (outcome !== undefined) this.#end(reader, outcome);
    else if (reader.withdrawn) this.#end(reader, WITHDRAWN);
    else if (meansLast(asked.form)) this.#end(reader, { kind: 'concrete', line: concrete });
    else this.#join(reader, asked);
  }

  /** What was applied since it was read for is looked at at once. */
  #join(reader: Reader, asked: ReadingRequest): void {
    const { line, protocol } = reader.request;
    const name = alikeName(line, protocol);
    let alike = this.#alike.get(name);
    if (alike === undefined) {
      const [readers, leaving] = [new Set<Reader>(), new Set<Reader>()];
      const ids = concreteIds(asked.form);
      alike = { name, protocol, asked, ids, readers, leaving, isRead: false, again: false };
      this.#alike.set(name, alike);
      for (const place of placesOf(alike)) {
        const there = this.#byPlace.get(place);
        if (there === undefined) this.#byPlace.set(place, new Set([alike]));
        else there.add(alike);
      }
    }
    reader.alike = alike;
    alike.readers.add(reader);
    this.#expect(alike);
    this.#ground.requestTurn();
  }

  #onPut(place: string): void {
    for (const alike of this.#byPlace.get(place) ?? []) this.#expect(alike);
  }

  /** There may be something for them. */
  #expect(alike: Alike): void {
    if (alike.isRead) alike.again = true;
    else this.#due.add(alike);
  }

  #lookAt(alike: Alike): void {
    const { form } = alike.asked;
    const at = [...form.keys.keys()].filter((place) =>
      this.#ground.mayHaveBehind(form.keys[place]!, alike.ids[place]!),
    );
    if (at.length > 0) void this.#readAgain(alike, at);
    else this.#letLeave(alike);
  }

  async #readAgain(alike: Alike, at: readonly number[]): Promise<void> {
    const { protocol, asked } = alike;
    const line = partOf(asked, at);
    const prepared = asked.row.prepare(line);
    if (!prepared.ok) return;
    // who joins meanwhile was read for later than that
    const readers = [...alike.readers];
    alike.isRead = true;
    this.#reads++;
    const result = await this.#ground.readAgain({ line, run: prepared.run, protocol });
    this.#reads--;
    alike.isRead = false;
    if (alike.again && alike.readers.size > 0) this.#due.add(alike);
    alike.again = false;
    const outcome = outcomeOf(result, protocol);
    if (outcome === undefined) this.#letLeave(alike);
    else for (const reader of readers) this.#queue(reader, alike, outcome);
    this.#giveAnswers();
    if (this.isDue) this.#ground.requestTurn();
  }

  #letLeave({ leaving }: Alike): void {
    for (const reader of [...leaving]) this.#end(reader, WITHDRAWN);
  }

  #queue(reader: Reader, alike: Alike, outcome: WaitOutcome): void {
    if (reader.alike !== alike) return;
    this.#part(reader, alike);
    this.#answers.push({ reader, outcome });
  }

  #giveAnswers(): void {
    const now = this.#answers.splice(0, ANSWERS_PER_TURN - this.#answered);
    this.#answered += now.length;
    for (const { reader, outcome } of now) this.#end(reader, outcome);
  }

  /** From those it was alike. */
  #part(reader: Reader, alike: Alike): void {
    reader.alike = undefined;
    alike.readers.delete(reader);
    alike.leaving.delete(reader);
    if (alike.readers.size > 0) return;
    this.#alike.delete(alike.name);
    this.#due.delete(alike);
    for (const place of placesOf(alike)) {
      const there = this.#byPlace.get(place);
      there?.delete(alike);
      if (there?.size === 0) this.#byPlace.delete(place);
    }
  }

  #end(reader: Reader, outcome: WaitOutcome): void {
    if (reader.alike !== undefined) this.#part(reader, reader.alike);
    const name = nameOf(reader.request.id);
    if (this.#byId.get(name) === reader) {
      this.#byId.delete(name);
      this.#bytes -= reader.bytes;
    }
    reader.resolve(outcome);
  }
}

/** Undefined: there is nothing. `protocol`: many are sent it, so it is encoded for all of them. */
function outcomeOf(result: LineResult, protocol?: Protocol): WaitOutcome | undefined {
  if (!result.ok) return failed(result.code, result.message);
  const { reply } = result;
  if (reply.kind === 'null' || reply.kind === 'nullArray') return undefined;
  return { kind: 'served', reply: protocol === undefined ? reply : encoded(reply, protocol) };
}

function encoded(reply: Reply, protocol: Protocol): Reply {
  return { kind: 'encoded', bytes: encodeReply(reply, protocol) };
}

function alikeName(line: CommandLine, protocol: Protocol): string {
  return line.reduce((name, word) => `${name}${word.length}:${nameOf(word)}`, `${protocol} `);
}

function placesOf({ asked }: Alike): string[] {
  return asked.form.keys.map((key) => nameOf(encodeKey(key)));
}

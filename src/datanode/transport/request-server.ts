/**
 * Requests over a link, on the side that answers: the one that was dialed. Their frames are told in
 * `request-client.ts`. What it holds of bodies, and of answers that are not taken, is bounded.
 */
import { codeOf, type ErrorCode, KvorumError, messageOf } from '../../common/errors.ts';
import type { NodeId } from '../../common/ids.ts';
import { LazyAbort } from '../../common/lazy-abort.ts';
import { limits } from '../../common/limits.ts';
import { AnswerRoom } from './answer-room.ts';
import { BodyReader, badFrame, channels, REQUEST_HEAD_BYTES, requestKinds } from './frame.ts';
import type { Link } from './link.ts';
import type { TransportSettings } from './settings.ts';
import type { Asker, TransportHandlers } from './transport.ts';

/** A request that is being answered. */
class Running extends LazyAbort implements Asker {
  #release: (() => void) | undefined;

  /** Counts until `release` is called, which is once. */
  constructor(release: () => void) {
    super();
    this.#release = release;
  }

  park(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }
}

/** One per accepted link. */
export class RequestServer {
  readonly #link: Link;
  readonly #from: NodeId;
  readonly #handlers: TransportHandlers;
  readonly #settings: TransportSettings;
  readonly #running = new Map<number, Running>();
  readonly #room: AnswerRoom;
  /** Those that are not parked, and their bytes. */
  #unparked = 0;
  #runningBytes = 0;
  #closed = false;

  constructor(link: Link, from: NodeId, handlers: TransportHandlers, settings: TransportSettings) {
    this.#link = link;
    this.#from = from;
    this.#handlers = handlers;
    this.#settings = settings;
    this.#room = new AnswerRoom(link);
  }

  /** Requests are handed up in the order they came, in the turn they came. */
  onFrame(body: Buffer): void {
    const reader = new BodyReader(body);
    const kind = reader.u8();
    const id = reader.varint();
    if (kind === requestKinds.cancel) {
      reader.end();
      this.#running.get(id)?.abort(new KvorumError('CANCELLED', 'the asker has gone'));
      return;
    }
    if (kind !== requestKinds.request) throw badFrame(`request frame ${kind} from the asking side`);
    if (this.#running.has(id)) throw badFrame(`request ${id} is already running`);
    if (this.#unparked >= this.#settings.requestsMax) {
      this.#answerFailure(id, 'BUSY', 'too many requests are running');
      return;
    }
    void this.#serve(id, reader.rest());
  }

  /** Reads on once answers have left. */
  onFlush(): void {
    this.#balance();
    this.#room.look();
  }

  close(): void {
    this.#closed = true;
    // one for all: there may be tens of thousands who wait
    const lost = new KvorumError('CONNECTION_LOST', `connection of ${this.#from} ended`);
    for (const gone of this.#running.values()) gone.abort(lost);
    this.#running.clear();
    this.#room.look();
  }

  async #serve(id: number, body: Buffer): Promise<void> {
    const bytes = body.length;
    const running = new Running(() => {
      this.#unparked--;
      this.#runningBytes -= bytes;
      this.#balance();
    });
    this.#running.set(id, running);
    this.#unparked++;
    this.#runningBytes += bytes;
    this.#balance();
    try {
      const answer = await this.#handlers.onRequest(this.#from, body, running, this.#room);
      this.#answer(id, answer);
    } catch (error) {
      this.#answerFailure(id, codeOf(error) ?? 'OUTCOME_UNKNOWN', messageOf(error));
    } finally {
      this.#running.delete(id);
      running.park();
    }
  }

  #answer(id: number, answer: Buffer): void {
    if (answer.length + REQUEST_HEAD_BYTES > limits.frameBytesMax) {
      const text = `done, but the answer of ${answer.length} bytes does not fit a frame`;
      this.#answerFailure(id, 'OUTCOME_UNKNOWN', text);
      return;
    }
    if (this.#closed) return;
    this.#link.write((w) => {
      w.begin(channels.request).u8(requestKinds.answer).varint(id).raw(answer);
      w.end();
    });
  }

  #answerFailure(id: number, code: ErrorCode, text: string): void {
    if (this.#closed) return;
    this.#link.write((w) => {
      w.begin(channels.request).u8(requestKinds.failure).varint(id).text(code);
      w.text(text.substring(0, 1_000));
      w.end();
    });
  }

  /** Bodies held and answers not taken are bounded: beyond, the link is not read; then cut. */
  #balance(): void {
    if (this.#closed) return;
    const max = this.#settings.queueBytesMax;
    const output = this.#link.outputBytes;
    if (output > 4 * max + limits.frameBytesMax) {
      this.#link.destroy(new Error('answers are not taken'));
    } else if (this.#runningBytes > max || output > max) {
      this.#link.pause(this);
      this.#link.requestFlush();
    } else {
      this.#link.resume(this);
    }
  }
}

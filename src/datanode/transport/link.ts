/**
 * One connection that carries frames, either side of it. What is written gathers until the end of
 * the turn and leaves in one go. Keepalives flow both ways; a side that hears nothing for
 * `silenceMs` closes. One that is not read hears nothing: there it counts that the other side takes
 * nothing of what waits for it, for `untakenMs`. Both are counted in our own ticks, so a stall of this
 * process counts as one tick at most and does not make the other side look dead.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import { codeOf, messageOf } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import type { ByteStream } from '../../common/network.ts';
import {
  BodyReader,
  badFrame,
  channels,
  controlKinds,
  FrameDecoder,
  FrameWriter,
} from './frame.ts';
import { decodeGreeting, encodeRefusal, HANDSHAKE_BYTES_MAX } from './handshake.ts';
import type { Pulse } from './pulse.ts';
import type { TransportSettings } from './settings.ts';

/** Bytes not taken by the system beyond which nothing more is encoded: it waits in bounded queues. */
const CONGESTED_BYTES = 1024 * 1024;
/** Writes are cut into views of this size, so that progress on a large one can be seen. */
const WRITE_BYTES = 256 * 1024;
/** How long a refusal may take to leave before the connection is cut. */
const LINGER_MS = 1_000;

export interface LinkHandlers {
  onFrame(channel: number, body: Buffer): void;
  /** Write what waits, as long as the link is not congested; true when some still waits. */
  onFlush?(): boolean;
  /**
   * A keepalive told the other side's wall clock, as it was at most `roundTripMs` before `nowMs` of
   * our monotone clock.
   */
  onClock?(stampMs: number, roundTripMs: number, nowMs: number): void;
  /** The other side has all that was written before `sentMs` of our monotone clock. */
  onEcho?(sentMs: number): void;
  /** Once; nothing follows. */
  onClose(error: Error | undefined): void;
  /** The connection is no more: one that was refused lingers for a moment. */
  onGone?(): void;
}

export interface LinkContext {
  readonly clock: Clock;
  readonly settings: TransportSettings;
  /** When keepalives are sent. */
  readonly pulse: Pulse;
}

export class Link {
  readonly #stream: ByteStream;
  readonly #clock: Clock;
  readonly #settings: TransportSettings;
  readonly #pulse: Pulse;
  readonly #decoder = new FrameDecoder(HANDSHAKE_BYTES_MAX);
  readonly #writer = new FrameWriter();
  #handlers: LinkHandlers;
  #timer: Timer | undefined;
  #flushAsked = false;
  #closed = false;
  #established = false;
  /** Who has no room for what comes; any of them holds it up. */
  readonly #pausedBy = new Set<object>();
  #quietTicks = 0;
  /** Handed to the stream in all; and what the system had taken of it, and had not, at the last tick. */
  #written = 0;
  #takenAtTick = 0;
  #bufferedAtTick = 0;
  #echo: { readonly theirMs: number; readonly atMs: number } | undefined;

  /** To be made in the turn the stream was handed out. */
  constructor(stream: ByteStream, context: LinkContext, handlers: LinkHandlers) {
    this.#stream = stream;
    this.#clock = context.clock;
    this.#settings = context.settings;
    this.#pulse = context.pulse;
    this.#handlers = handlers;
    this.#timer = this.#clock.setTimer(this.#settings.handshakeTimeoutMs, () =>
      this.destroy(new Error('no handshake in time')),
    );
    stream.attach({
      onData: (chunk) => this.#take(chunk),
      onDrain: () => this.requestFlush(),
      onClose: (error) => {
        this.#finish(error);
        this.#handlers.onGone?.();
      },
    });
  }

  get remote(): string {
    return this.#stream.remote;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Bytes written that the system has not taken. */
  get outputBytes(): number {
    return this.#stream.bufferedBytes + this.#writer.length;
  }

  get #isPaused(): boolean {
    return this.#pausedBy.size > 0;
  }

  get congested(): boolean {
    return this.outputBytes >= CONGESTED_BYTES;
  }

  /** The handshake is done: full frames and keepalives from here on. */
  establish(handlers: LinkHandlers): void {
    this.#handlers = handlers;
    this.#established = true;
    this.#decoder.bodyBytesMax = limits.frameBytesMax;
    this.#timer?.cancel();
    this.#writeKeepalive();
    this.#pulse.join(this.#beat);
  }

  /** Whole frames written by `encode` leave at the end of this turn. */
  write(encode: (writer: FrameWriter) => void): void {
    if (this.#closed) return;
    encode(this.#writer);
    this.requestFlush();
  }

  /** A frame made elsewhere, which leaves from where it is, behind all that was written. */
  writeWhole(frame: Buffer): void {
    if (this.#closed) return;
    this.#writeOut();
    this.#send(frame);
    this.requestFlush();
  }

  /** Calls `onFlush` and writes at the end of this turn. */
  requestFlush(): void {
    if (this.#flushAsked || this.#closed) return;
    this.#flushAsked = true;
    this.#clock.endOfTurn(this.#flush);
  }

  /** Nothing is read until all who paused it have resumed it. */
  pause(by: object): void {
    if (this.#pausedBy.has(by)) return;
    this.#pausedBy.add(by);
    if (this.#pausedBy.size === 1) this.#stream.pause();
  }

  resume(by: object): void {
    if (!this.#pausedBy.delete(by) || this.#isPaused) return;
    // what came meanwhile is heard from now on
    this.#quietTicks = 0;
    this.#stream.resume();
  }

  /** Says why to the other side, then closes. */
  refuse(text: string): void {
    if (this.#closed) return;
    this.#decoder.stop();
    encodeRefusal(this.#writer, text);
    this.#writeOut();
    this.#finish(badFrame(text));
    this.#stream.end();
    this.#timer = this.#clock.setTimer(LINGER_MS, () => this.#stream.destroy());
  }

  /** Closes at once: not one more frame is delivered. */
  destroy(error?: Error): void {
    this.#decoder.stop();
    this.#stream.destroy(error);
    this.#finish(error);
  }

  readonly #flush = (): void => {
    this.#flushAsked = false;
    if (this.#closed) return;
    const waiting = this.#handlers.onFlush?.() ?? false;
    this.#writeOut();
    if (waiting && !this.congested) this.requestFlush();
  };

  #writeOut(): void {
    if (this.#writer.length === 0) return;
    this.#send(this.#writer.take());
    if (this.#stream.bufferedBytes === 0) this.#writer.reuse();
  }

  #send(bytes: Buffer): void {
    this.#written += bytes.length;
    for (let at = 0; at < bytes.length; at += WRITE_BYTES) {
      this.#stream.write(bytes.subarray(at, at + WRITE_BYTES));
    }
  }

  #take(chunk: Buffer): void {
    this.#quietTicks = 0;
    try {
      this.#decoder.push(chunk, (channel, body) => this.#frame(channel, body));
    } catch (error) {
      if (codeOf(error) !== 'BAD_FRAME') throw error;
      this.refuse(messageOf(error));
    }
  }

  #frame(channel: number, body: Buffer): void {
    if (channel === channels.control && body[0] === controlKinds.keepalive) {
      this.#onKeepalive(new BodyReader(body));
      return;
    }
    if (this.#established && channel === channels.control) {
      const greeting = decodeGreeting(channel, body);
      if (greeting.kind !== 'refusal') throw badFrame(`${greeting.kind} after the handshake`);
      this.destroy(new Error(`the other side refused: ${greeting.text}`));
      return;
    }
    this.#handlers.onFrame(channel, body);
  }

  #finish(error: Error | undefined): void {
    this.#timer?.cancel();
    this.#pulse.leave(this.#beat);
    if (this.#closed) return;
    this.#closed = true;
    this.#decoder.stop();
    this.#handlers.onClose(error);
  }

  /** At every keepalive. */
  readonly #beat = (): void => {
    this.#quietTicks = this.#isQuiet() ? this.#quietTicks + 1 : 0;
    const { keepaliveMs, silenceMs, untakenMs } = this.#settings;
    if (this.#quietTicks * keepaliveMs > (this.#isPaused ? untakenMs : silenceMs)) {
      const what = this.#isPaused
        ? `nothing taken for ${untakenMs}`
        : `nothing heard for ${silenceMs}`;
      this.destroy(new Error(`${what} ms`));
      return;
    }
    if (!this.congested) this.#writeKeepalive();
  };

  /** Since the last tick, nothing shows that the other side is there; hearing of it is counted apart. */
  #isQuiet(): boolean {
    const buffered = this.#stream.bufferedBytes;
    const taken = this.#written - buffered;
    // a keepalive that fits the system's buffer tells nothing; where it is not read, more may wait than
    // before though some was taken
    const progress = this.#isPaused ? taken > this.#takenAtTick : buffered < this.#bufferedAtTick;
    this.#bufferedAtTick = buffered;
    this.#takenAtTick = taken;
    return !progress && !(this.#isPaused && buffered === 0);
  }

  /** Our clocks, and what the other side needs to take the round trip out of its reading. */
  #writeKeepalive(): void {
    const now = this.#clock.monotonicMs();
    const echo = this.#echo;
    this.write((w) => {
      w.begin(channels.control).u8(controlKinds.keepalive);
      w.f64(this.#clock.wallMs()).f64(now);
      w.f64(echo?.theirMs ?? -1).f64(echo ? now - echo.atMs : 0);
      w.end();
    });
  }

  #onKeepalive(reader: BodyReader): void {
    reader.u8();
    const [wallMs, theirMs, echoMs, heldMs] = [
      reader.f64(),
      reader.f64(),
      reader.f64(),
      reader.f64(),
    ];
    if (![wallMs, theirMs, echoMs, heldMs].every(Number.isFinite)) throw badFrame('bad keepalive');
    const now = this.#clock.monotonicMs();
    const isFirst = this.#echo === undefined;
    this.#echo = { theirMs, atMs: now };
    // so the other side knows our clock one round trip after the handshake
    if (isFirst && this.#established) this.#writeKeepalive();
    if (echoMs < 0) return;
    this.#handlers.onClock?.(wallMs, Math.max(0, now - echoMs - heldMs), now);
    this.#handlers.onEcho?.(echoMs);
  }
}

/**
 * Connections that have not said yet who they are, of one process: a bounded number has its handshake
 * at a time, the others wait for their turn, and who takes too long is let go. So clients that begin
 * handshakes and never end them take a bounded memory, and keep nobody out for longer than a moment.
 */
import type { Clock, Timer } from '../clock.ts';
import { limits } from '../limits.ts';
import { LoneTimer } from '../lone-timer.ts';

/** One connection, from its first moment until it is served or gone. */
export interface Newcomer {
  /** It has said that it wants a handshake, and may begin it. */
  begin(): void;
  /** Closes it. */
  letGo(reason: string): void;
  /** Nothing was heard of it in time: true keeps it. */
  isSilent(): boolean;
}

interface Entry {
  readonly newcomer: Newcomer;
  timer: Timer;
  /** When its handshake began. */
  beganMs: number | undefined;
}

export interface HandshakesWorld {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer' | 'endOfTurn'>;
  /** How many connections there may be yet, of those that have not said who they are. */
  room(): number;
  /** How long a connection may take from its first moment on; without it, as clients may. */
  readonly handshakeMs?: number;
}

export class Handshakes {
  readonly #world: HandshakesWorld;
  /** All, the oldest first. */
  readonly #all = new Map<Newcomer, Entry>();
  /** Those that have their handshake, and those that wait for it; the oldest first. */
  readonly #running = new Set<Entry>();
  readonly #waiting = new Set<Entry>();

  /** Until the oldest handshake has taken so long that it makes room. */
  readonly #again: LoneTimer;
  readonly #withinMs: number;

  constructor(world: HandshakesWorld) {
    this.#world = world;
    this.#again = new LoneTimer(world.clock);
    this.#withinMs = world.handshakeMs ?? limits.tlsHandshakeMs;
  }

  /** Connections that have not said yet who they are. */
  get size(): number {
    return this.#all.size;
  }

  /** Takes a connection in: the oldest makes room where there is none. */
  add(newcomer: Newcomer): void {
    const [oldest] = this.#all.values();
    if (oldest !== undefined && this.#all.size >= this.#world.room()) {
      this.#letGo(oldest, 'others came, and there was no room');
    }
    this.#all.set(newcomer, { newcomer, timer: this.#timerOf(newcomer), beganMs: undefined });
  }

  /** It wants a handshake: begins it now, or when there is room. */
  ask(newcomer: Newcomer): void {
    const entry = this.#all.get(newcomer);
    if (entry === undefined) return;
    this.#waiting.add(entry);
    this.#beginNext();
  }

  /** It is served now, or has gone. */
  remove(newcomer: Newcomer): void {
    const entry = this.#all.get(newcomer);
    if (entry === undefined) return;
    this.#forget(entry);
    this.#beginNext();
  }

  #beginNext(): void {
    for (const entry of this.#waiting) {
      if (this.#running.size >= limits.tlsHandshakesMax) return this.#makeRoomLater();
      this.#waiting.delete(entry);
      this.#running.add(entry);
      entry.beganMs = this.#world.clock.monotonicMs();
      entry.newcomer.begin();
    }
  }

  /**
   * Once the oldest handshake takes long. A process that stood still, as many handshakes make it, has
   * not read yet what the others have long sent: it reads its sockets first.
   */
  #makeRoomLater(): void {
    const [oldest] = this.#running;
    const leftMs = limits.tlsHandshakeSlowMs - this.#tookMs(oldest!);
    const { clock } = this.#world;
    this.#again.ask(Math.max(0, leftMs), () => clock.endOfTurn(this.#makeRoom));
  }

  /** Lets go as many handshakes that take long as others wait. */
  readonly #makeRoom = (): void => {
    let wanted = this.#waiting.size - (limits.tlsHandshakesMax - this.#running.size);
    for (const entry of this.#running) {
      if (wanted <= 0 || this.#tookMs(entry) < limits.tlsHandshakeSlowMs) break;
      wanted--;
      this.#letGo(entry, `no handshake within ${limits.tlsHandshakeSlowMs} ms, and others wait`);
    }
    this.#beginNext();
  };

  #tookMs({ beganMs }: Entry): number {
    return this.#world.clock.monotonicMs() - beganMs!;
  }

  #timerOf(newcomer: Newcomer): Timer {
    return this.#world.clock.setTimer(this.#withinMs, () => this.#onLate(newcomer));
  }

  /** A process that stood still reads first what it was sent meanwhile. */
  #onLate(newcomer: Newcomer): void {
    const hadAsked = this.#hasAsked(this.#all.get(newcomer)!);
    this.#world.clock.endOfTurn(() => {
      const entry = this.#all.get(newcomer);
      if (entry !== undefined) this.#end(entry, hadAsked);
    });
  }

  #end(entry: Entry, hadAsked: boolean): void {
    const { newcomer } = entry;
    const asked = this.#hasAsked(entry);
    if (asked && !hadAsked) {
      // its first byte lay there unread: its time begins now
      entry.timer = this.#timerOf(newcomer);
      return;
    }
    if (asked || !newcomer.isSilent()) {
      const what = asked ? 'no handshake' : 'not a byte';
      this.#letGo(entry, `${what} within ${this.#withinMs} ms`);
    } else this.#forget(entry);
    this.#beginNext();
  }

  #hasAsked(entry: Entry): boolean {
    return entry.beganMs !== undefined || this.#waiting.has(entry);
  }

  #letGo(entry: Entry, reason: string): void {
    this.#forget(entry);
    entry.newcomer.letGo(reason);
  }

  #forget(entry: Entry): void {
    entry.timer.cancel();
    this.#all.delete(entry.newcomer);
    this.#running.delete(entry);
    this.#waiting.delete(entry);
  }
}

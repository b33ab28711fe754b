/** Hubs of several nodes over links that a test cuts and mends, on virtual time. */
import { type LogFields, silentLogger } from '../../../src/common/log.ts';
import {
  createSubscriber,
  type Subscriber,
} from '../../../src/datanode/commands/pubsub/pubsub-port.ts';
import { PubSubHub } from '../../../src/datanode/pubsub/hub.ts';
import type { PostLink } from '../../../src/datanode/transport/transport.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

export class Mesh {
  readonly clock = new ManualClock();
  readonly hubs = new Map<string, PubSubHub>();
  readonly warnings: LogFields[] = [];
  /** Bodies sent over each link, by `from>to`. */
  readonly sent = new Map<string, Buffer[]>();
  /** Links whose queue takes no more. */
  readonly full = new Set<string>();
  /** What a cut of a link gives back. */
  readonly unsent = new Map<string, readonly Buffer[]>();
  /** Links that take bodies and bring none. */
  readonly silent = new Set<string>();
  /** Links that are not read. */
  readonly paused = new Set<string>();
  readonly #epochs = new Map<string, number>();
  readonly #up = new Set<string>();

  constructor(...names: readonly string[]) {
    for (const name of names) {
      const logger = {
        ...silentLogger,
        warn: (_text: string, fields: LogFields = {}) => this.warnings.push(fields),
      };
      const post = (to: string, body: Buffer) => this.#post(name, to, body);
      this.hubs.set(name, new PubSubHub({ clock: this.clock, logger }, () => ({ post })));
    }
    for (const from of names) for (const to of names) if (from !== to) this.open(from, to);
  }

  hub(name: string): PubSubHub {
    return this.hubs.get(name)!;
  }

  open(from: string, to: string): void {
    const link = `${from}>${to}`;
    if (this.#up.has(link)) return;
    this.#up.add(link);
    this.hub(from).onOpen(to);
  }

  /** What is under way on it is lost. */
  cut(from: string, to: string): void {
    const link = `${from}>${to}`;
    if (!this.#up.delete(link)) return;
    this.#epochs.set(link, (this.#epochs.get(link) ?? 0) + 1);
    this.hub(from).onClosed(to, this.unsent.get(link) ?? []);
    this.hub(to).onLost(from);
  }

  /** Runs until nothing is due within `ms`. */
  async run(ms = 100): Promise<void> {
    let over = false;
    const end = this.clock.setTimer(ms, () => {
      over = true;
    });
    while (!over && (await this.clock.step()));
    end.cancel();
  }

  #linkOf(link: string): PostLink {
    return {
      pause: () => void this.paused.add(link),
      resume: () => void this.paused.delete(link),
    };
  }

  #post(from: string, to: string, body: Buffer): boolean {
    const link = `${from}>${to}`;
    if (!this.#up.has(link) || this.full.has(link)) return false;
    const sent = this.sent.get(link);
    if (sent) sent.push(body);
    else this.sent.set(link, [body]);
    const epoch = this.#epochs.get(link);
    this.clock.setTimer(1, () => {
      if (this.#epochs.get(link) !== epoch || this.silent.has(link)) return;
      this.hub(to).onPost(from, body, this.#linkOf(link));
    });
    return true;
  }
}

export interface Listener extends Subscriber {
  /** What it was sent, as RESP3 text. */
  readonly heard: string[];
}

export function listener(): Listener {
  const heard: string[] = [];
  const one = createSubscriber((delivery) => heard.push(delivery.encoded(3).toString('latin1')));
  return Object.assign(one, { heard });
}

export const bytes = (text: string) => Buffer.from(text, 'latin1');

/** A link that tells whether it is read. */
export function fakeLink(): PostLink & { readonly isPaused: boolean } {
  let isPaused = false;
  return {
    get isPaused() {
      return isPaused;
    },
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
    },
  };
}

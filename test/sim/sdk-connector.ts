/**
 * The SDK's connections over simulated byte streams, in place of ioredis: RESP2, what a turn has sent
 * leaves in one write, and nothing is sent twice. Subscribers have no use for it: pushes are not told.
 */
import type { Clock } from '../../src/common/clock.ts';
import type { Address, ByteStream, Network } from '../../src/common/network.ts';
import type { Reply as Decoded } from '../../src/datanode/resp/reply.ts';
import {
  type Argument,
  type Connection,
  type ConnectionEvents,
  type ConnectionSettings,
  type Connector,
  Debt,
  type Outcome,
  type Reply,
} from '../../src/sdk/connection.ts';
import { encodeRequest, ReplyReader } from './resp.ts';

export interface SimConnector extends Connector {
  /** Those that stand or are being made. */
  readonly standing: ReadonlySet<Connection>;
}

export function simConnector(network: Network, clock: Clock): SimConnector {
  const open = new Set<Connection>();
  return {
    standing: open,
    open(settings, events) {
      const connection = new SimConnection(settings, network, clock, {
        ready: () => events.ready(),
        closed: (cause, refused) => {
          open.delete(connection);
          events.closed(cause, refused);
        },
      });
      open.add(connection);
      return connection;
    },
  };
}

type Done = (outcome: Outcome) => void;

class SimConnection implements Connection {
  readonly address: Address;
  readonly #settings: ConnectionSettings;
  readonly #events: ConnectionEvents;
  readonly #clock: Clock;
  readonly #reader = new ReplyReader();
  readonly #debt: Debt;
  #state: 'connecting' | 'ready' | 'closed' = 'connecting';
  #stream: ByteStream | undefined;
  #waiting: { readonly line: readonly Argument[]; readonly done: Done }[] = [];
  /** Of what was sent, in order. */
  #sent: Done[] = [];
  /** Leaves at the end of the turn. */
  #gathered: Buffer[] = [];
  #cause: Error | undefined;

  constructor(
    settings: ConnectionSettings,
    network: Network,
    clock: Clock,
    events: ConnectionEvents,
  ) {
    this.address = settings.address;
    this.#settings = settings;
    this.#events = events;
    this.#clock = clock;
    this.#debt = new Debt(clock);
    network.connect(settings.address, settings.connectTimeoutMs).then(
      (stream) => this.#enter(stream),
      (error: Error) => this.#end(error),
    );
  }

  get pending(): number {
    return this.#sent.length + this.#waiting.length;
  }

  get owesSinceMs(): number | undefined {
    return this.#debt.sinceMs;
  }

  send(line: readonly Argument[], done: Done): void {
    if (this.#state === 'ready') this.#write(line, done);
    else if (this.#state === 'connecting') this.#waiting.push({ line, done });
    else done({ kind: 'unsent', cause: this.#reason() });
  }

  close(): void {
    this.#stream?.destroy();
    this.#end(undefined);
  }

  /** Selects the namespace, and lets what has waited follow it. */
  #enter(stream: ByteStream): void {
    stream.attach({
      onData: (chunk) => this.#hear(chunk),
      onClose: (error) => this.#end(error ?? new Error('the other side has closed')),
    });
    if (this.#state === 'closed') {
      stream.destroy();
      return;
    }
    this.#stream = stream;
    const { namespace, readOnly } = this.#settings;
    const ignore = () => {};
    this.#write(['CLIENT', 'SETINFO', 'LIB-NAME', 'kvorum-sdk'], ignore);
    if (readOnly) this.#write(['READONLY'], ignore);
    if (namespace === undefined) {
      this.#open();
      return;
    }
    this.#write(['SELECT', namespace], (outcome) => {
      if (outcome.kind === 'reply') this.#open();
      else if (outcome.kind === 'error') this.#refuse(outcome.text);
    });
  }

  #open(): void {
    if (this.#state !== 'connecting') return;
    this.#state = 'ready';
    this.#events.ready();
    for (const { line, done } of this.#waiting.splice(0)) this.send(line, done);
  }

  #write(line: readonly Argument[], done: Done): void {
    this.#sent.push(done);
    this.#debt.add();
    this.#gathered.push(encodeRequest(line as (string | Buffer | number)[]));
    if (this.#gathered.length > 1) return;
    this.#clock.endOfTurn(() => this.#stream?.write(Buffer.concat(this.#gathered.splice(0))));
  }

  #hear(chunk: Buffer): void {
    if (this.#state === 'closed') return;
    for (const reply of this.#reader.take(chunk)) {
      const done = this.#sent.shift();
      this.#debt.pay(this.#sent.length);
      if (done === undefined) throw new Error(`${this.address.host} answers what nobody asked`);
      done(
        reply.kind === 'error'
          ? { kind: 'error', text: reply.text }
          : { kind: 'reply', reply: plain(reply) },
      );
    }
  }

  #refuse(text: string): void {
    // as the product's adapter has it: a node that is starting refuses nobody for good
    const forGood = !/^(?:LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)\b/.test(text);
    this.#stream?.destroy();
    this.#end(new Error(text), forGood);
  }

  #end(cause: Error | undefined, refused = false): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#cause = cause;
    const sent = this.#sent.splice(0);
    const waiting = this.#waiting.splice(0);
    this.#events.closed(cause, refused);
    this.#clock.endOfTurn(() => {
      for (const done of sent) done({ kind: 'lost', cause: this.#reason() });
      for (const { done } of waiting) done({ kind: 'unsent', cause: this.#reason() });
    });
  }

  #reason(): Error {
    return this.#cause ?? new Error('the connection is closed');
  }
}

/** As ioredis gives replies whose texts are asked for as bytes. */
function plain(reply: Decoded): Reply {
  switch (reply.kind) {
    case 'simple':
      return Buffer.from(reply.text);
    case 'bulk':
      return Buffer.from(reply.bytes);
    case 'integer':
      return Number(reply.value);
    case 'error':
      return new Error(reply.text);
    case 'array':
      return reply.items.map(plain);
    case 'null':
    case 'nullArray':
      return null;
    default:
      throw new Error(`a ${reply.kind} is no reply of RESP2`);
  }
}

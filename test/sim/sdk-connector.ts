/** The SDK's connections over the simulated network: RESP2, pipelined, each for one life. */
import type { ByteStream, Network } from '../../src/common/network.ts';
import { decodeReply } from '../../src/datanode/resp/decode-reply.ts';
import type { Reply as WireReply } from '../../src/datanode/resp/reply.ts';
import type {
  Argument,
  Connection,
  ConnectionEvents,
  ConnectionSettings,
  Connector,
  Outcome,
  Reply,
} from '../../src/sdk/connection.ts';
import { replyEnd } from './client.ts';

type Done = (outcome: Outcome) => void;

export function simConnector(network: Network): Connector {
  return { open: (settings, events) => new SimConnection(settings, events, network) };
}

class SimConnection implements Connection {
  readonly address;
  readonly #events: ConnectionEvents;
  #stream: ByteStream | undefined;
  #closed = false;
  /** Before the connection stands. */
  #waiting: { readonly line: readonly Argument[]; readonly done: Done }[] = [];
  readonly #pending: Done[] = [];
  #received: Buffer = Buffer.alloc(0);

  constructor(
    { address, namespace, connectTimeoutMs }: ConnectionSettings,
    events: ConnectionEvents,
    network: Network,
  ) {
    this.address = address;
    this.#events = events;
    network.connect(address, connectTimeoutMs).then(
      (stream) => this.#enter(stream, namespace),
      (error: Error) => this.#end(error),
    );
  }

  get pending(): number {
    return this.#pending.length + this.#waiting.length;
  }

  send(line: readonly Argument[], done: Done): void {
    if (this.#closed) done({ kind: 'unsent', cause: new Error('the connection is closed') });
    else if (this.#stream === undefined) this.#waiting.push({ line, done });
    else {
      this.#pending.push(done);
      this.#stream.write(encode(line));
    }
  }

  close(): void {
    this.#stream?.destroy();
    this.#end(undefined);
  }

  #enter(stream: ByteStream, namespace: string | undefined): void {
    stream.attach({
      onData: (chunk) => this.#hear(chunk),
      onClose: (error) => this.#end(error ?? new Error('the other side closed')),
    });
    if (this.#closed) {
      stream.destroy();
      return;
    }
    this.#stream = stream;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (namespace !== undefined) this.send(['SELECT', namespace], () => {});
    for (const { line, done } of waiting) this.send(line, done);
    this.#events.ready();
  }

  #hear(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const end = this.#received.length === 0 ? -1 : replyEnd(this.#received, 0);
      if (end === -1) return;
      const reply = decodeReply(this.#received.subarray(0, end));
      this.#received = this.#received.subarray(end);
      const done = this.#pending.shift();
      if (reply.kind === 'error') done?.({ kind: 'error', text: reply.text });
      else done?.({ kind: 'reply', reply: replyOf(reply) });
    }
  }

  #end(cause: Error | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    const why = cause ?? new Error('the connection is closed');
    for (const done of this.#pending.splice(0)) done({ kind: 'lost', cause: why });
    for (const { done } of this.#waiting.splice(0)) done({ kind: 'unsent', cause: why });
    this.#events.closed(cause, false);
  }
}

function replyOf(reply: WireReply): Reply {
  switch (reply.kind) {
    case 'bulk':
      return reply.bytes;
    case 'simple':
      return Buffer.from(reply.text);
    case 'integer':
      return Number(reply.value);
    case 'array':
      return reply.items.map(replyOf);
    case 'error':
      return new Error(reply.text);
    case 'null':
    case 'nullArray':
      return null;
    default:
      throw new Error(`a reply of kind ${reply.kind} is not of RESP2`);
  }
}

function encode(line: readonly Argument[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${line.length}\r\n`)];
  for (const argument of line) {
    const bytes = Buffer.isBuffer(argument) ? argument : Buffer.from(String(argument));
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return Buffer.concat(parts);
}

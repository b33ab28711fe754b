/**
 * Byte streams as they are handed in: TCP in production, simulated links in the simulator.
 * The adapter over node:net is `tcp.ts`.
 */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface StreamHandlers {
  /** Bytes in order; a chunk may hold any part of any number of messages. Not kept by the stream. */
  onData(chunk: Buffer): void;
  /** The write buffer fell below the high-water mark after `write` returned false. */
  onDrain?(): void;
  /** The other side sends nothing more but may still read. Without this the stream then ends. */
  onEnd?(): void;
  /** Called exactly once, whichever side or fault ended the stream; nothing follows it. */
  onClose(error?: Error): void;
}

/** What is known of a peer whose bytes are encrypted. */
export interface SecuredBy {
  /** As `TLSv1.3`. */
  readonly protocol: string;
  /** By its standard name. */
  readonly cipher: string;
  /** Of the certificate that the peer has shown, if one of the trusted authorities signed it. */
  readonly commonName: string | undefined;
}

export interface ByteStream {
  /** `host:port` of the other side, for messages to people. */
  readonly remote: string;
  /** `host:port` of this side, as the other knows it: not what is listened on, which may be all. */
  readonly local: string;
  /** Absent: the bytes are sent as they are. */
  readonly secured?: SecuredBy;
  /** Bytes given to `write` that the system has not taken yet. */
  readonly bufferedBytes: number;
  /** Must be called once, in the same turn the stream was handed out. */
  attach(handlers: StreamHandlers): void;
  /**
   * Queues bytes; false asks the writer to wait for onDrain. Silently ignored after the end. They are
   * not looked at any more when `bufferedBytes` is 0, be that at once: then they may be written over.
   */
  write(bytes: Uint8Array): boolean;
  /** Stops and restarts onData: back-pressure toward the sender. */
  pause(): void;
  resume(): void;
  /** Sends what is queued, then closes. */
  end(): void;
  /** Closes at once; queued bytes are lost. onClose follows, and no onData is called after this. */
  destroy(error?: Error): void;
}

export interface Listener {
  /** The port really bound (asked for 0: the system's choice). */
  readonly port: number;
  close(): Promise<void>;
}

export interface Network {
  /** Rejects with code EADDRINUSE and the like; the message names address and cause. */
  listen(address: Address, onStream: (stream: ByteStream) => void): Promise<Listener>;
  /** Rejects when refused, unreachable, or not connected within `timeoutMs`. */
  connect(address: Address, timeoutMs: number): Promise<ByteStream>;
}

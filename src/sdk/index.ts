/** `kvorum/sdk`: the client. */

export type { ClientChange } from './changes.ts';
export { Client } from './client.ts';
export type { ClientEvents, ClientStatus, NodeInfo } from './client-events.ts';
export type {
  Bytes,
  CallOptions,
  Consistency,
  Key,
  Nested,
  NestedBytes,
  Numeric,
  PairRecord,
  Pairs,
  StreamEntry,
  Value,
  Variadic,
  WatchOptions,
  Word,
} from './command-types.ts';
export type { Connection, ConnectionEvents, Connector, Outcome, Reply } from './connection.ts';
export { ClientError, type OwnErrorCode, ReplyError } from './errors.ts';
export type { ClientOptions } from './options.ts';
export { Pipeline, type PipelineResult, Transaction, WatchedTransaction } from './pipeline.ts';
export type { ScanOptions, ScanStep } from './scan.ts';
export { Subscriber, type SubscriberEvents } from './subscriber.ts';
export type { Pem, TlsOptions } from './tls-options.ts';
export type { BatchTrace, CommandTrace, ConnectTrace, LookupTrace } from './tracing.ts';
export type { BufferCommands, Commands, TextCommands } from './typed-commands.ts';
export type { WatchBody, WatchResult } from './watch.ts';
export { type ReadCommands, Watched } from './watched.ts';
export type { ClientWorld } from './world.ts';

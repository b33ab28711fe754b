/**
 * The messages of etcd's v3 API that the embedded store speaks; the field numbers are etcd's. Names
 * are ours where etcd's are not camel case. Nested transactions are left out (nothing sends them).
 */
import { type Codec, message } from './wire.ts';

export interface Header {
  readonly clusterId: number;
  readonly memberId: number;
  readonly revision: number;
  readonly raftTerm: number;
}
export interface KeyValue {
  readonly key: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly version: number;
  readonly value: Buffer;
  readonly lease: number;
}
export interface EventMessage {
  /** 0 put, 1 delete. */
  readonly type: number;
  readonly kv?: KeyValue | undefined;
  readonly prevKv?: KeyValue | undefined;
}
export interface RangeRequest {
  readonly key: Buffer;
  readonly rangeEnd: Buffer;
  readonly limit: number;
  readonly revision: number;
  /** 0 none, 1 ascending, 2 descending. */
  readonly sortOrder: number;
  /** 0 key, 1 version, 2 create revision, 3 mod revision, 4 value. */
  readonly sortTarget: number;
  readonly keysOnly: boolean;
  readonly countOnly: boolean;
  readonly minModRevision: number;
  readonly maxModRevision: number;
  readonly minCreateRevision: number;
  readonly maxCreateRevision: number;
}
export interface RangeResponse {
  readonly header?: Header | undefined;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}
export interface PutRequest {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly lease: number;
  readonly prevKv: boolean;
  readonly ignoreValue: boolean;
  readonly ignoreLease: boolean;
}
export interface PutResponse {
  readonly header?: Header | undefined;
  readonly prevKv?: KeyValue | undefined;
}
export interface DeleteRequest {
  readonly key: Buffer;
  readonly rangeEnd: Buffer;
  readonly prevKv: boolean;
}
export interface DeleteResponse {
  readonly header?: Header | undefined;
  readonly deleted: number;
  readonly prevKvs: readonly KeyValue[];
}
export interface CompareMessage {
  /** 0 equal, 1 greater, 2 less, 3 not equal. */
  readonly result: number;
  /** 0 version, 1 create revision, 2 mod revision, 3 value, 4 lease. */
  readonly target: number;
  readonly key: Buffer;
  readonly version: number;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: Buffer;
  readonly lease: number;
  readonly rangeEnd: Buffer;
}
export interface RequestOp {
  readonly range?: RangeRequest | undefined;
  readonly put?: PutRequest | undefined;
  readonly delete?: DeleteRequest | undefined;
}
export interface ResponseOp {
  readonly range?: RangeResponse | undefined;
  readonly put?: PutResponse | undefined;
  readonly delete?: DeleteResponse | undefined;
}
export interface TxnRequest {
  readonly compare: readonly CompareMessage[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}
export interface TxnResponse {
  readonly header?: Header | undefined;
  readonly succeeded: boolean;
  readonly responses: readonly ResponseOp[];
}
export interface CompactRequest {
  readonly revision: number;
  readonly physical: boolean;
}
export interface WatchCreate {
  readonly key: Buffer;
  readonly rangeEnd: Buffer;
  readonly startRevision: number;
  readonly progressNotify: boolean;
  /** 0 no puts, 1 no deletes. */
  readonly filters: readonly number[];
  readonly prevKv: boolean;
  readonly watchId: number;
}
export interface WatchRequest {
  readonly create?: WatchCreate | undefined;
  readonly cancel?: { readonly watchId: number } | undefined;
  readonly progress?: object | undefined;
}
export interface WatchResponse {
  readonly header?: Header | undefined;
  readonly watchId: number;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: number;
  readonly cancelReason: string;
  readonly events: readonly EventMessage[];
}
/** Times to live are whole seconds. */
export interface LeaseGrantRequest {
  readonly ttl: number;
  readonly id: number;
}
export interface LeaseGrantResponse {
  readonly header?: Header | undefined;
  readonly id: number;
  readonly ttl: number;
}
export interface LeaseIdRequest {
  readonly id: number;
}
export interface HeaderOnly {
  readonly header?: Header | undefined;
}
export interface TimeToLiveRequest {
  readonly id: number;
  readonly keys: boolean;
}
export interface TimeToLiveResponse {
  readonly header?: Header | undefined;
  readonly id: number;
  readonly ttl: number;
  readonly grantedTtl: number;
  readonly keys: readonly Buffer[];
}
export interface LeasesResponse {
  readonly header?: Header | undefined;
  readonly leases: readonly LeaseIdRequest[];
}
export interface Member {
  readonly id: number;
  readonly name: string;
  readonly peerUrls: readonly string[];
  readonly clientUrls: readonly string[];
}
export interface MembersResponse {
  readonly header?: Header | undefined;
  readonly members: readonly Member[];
}
export interface StatusResponse {
  readonly header?: Header | undefined;
  readonly version: string;
  readonly dbSize: number;
  readonly leader: number;
  readonly raftIndex: number;
  readonly raftTerm: number;
  readonly raftAppliedIndex: number;
  readonly dbSizeInUse: number;
}

const int = (number: number) => ({ number, kind: 'int64' }) as const;
const bool = (number: number) => ({ number, kind: 'bool' }) as const;
const bytes = (number: number) => ({ number, kind: 'bytes' }) as const;
const text = (number: number) => ({ number, kind: 'string' }) as const;
const sub = <T extends object>(number: number, kind: Codec<T>) => ({ number, kind });
const many = <T extends object>(number: number, kind: Codec<T>) => ({
  number,
  kind,
  repeated: true,
});

const header = message<Header>({
  clusterId: int(1),
  memberId: int(2),
  revision: int(3),
  raftTerm: int(4),
});
const withHeader = { header: sub(1, header) };
export const emptyCodec = message<object>({});
export const headerOnlyCodec = message<HeaderOnly>(withHeader);
export const keyValueCodec = message<KeyValue>({
  key: bytes(1),
  createRevision: int(2),
  modRevision: int(3),
  version: int(4),
  value: bytes(5),
  lease: int(6),
});
const event = message<EventMessage>({
  type: int(1),
  kv: sub(2, keyValueCodec),
  prevKv: sub(3, keyValueCodec),
});
export const rangeRequestCodec = message<RangeRequest>({
  key: bytes(1),
  rangeEnd: bytes(2),
  limit: int(3),
  revision: int(4),
  sortOrder: int(5),
  sortTarget: int(6),
  keysOnly: bool(8),
  countOnly: bool(9),
  minModRevision: int(10),
  maxModRevision: int(11),
  minCreateRevision: int(12),
  maxCreateRevision: int(13),
});
export const rangeResponseCodec = message<RangeResponse>({
  ...withHeader,
  kvs: many(2, keyValueCodec),
  more: bool(3),
  count: int(4),
});
export const putRequestCodec = message<PutRequest>({
  key: bytes(1),
  value: bytes(2),
  lease: int(3),
  prevKv: bool(4),
  ignoreValue: bool(5),
  ignoreLease: bool(6),
});
export const putResponseCodec = message<PutResponse>({
  ...withHeader,
  prevKv: sub(2, keyValueCodec),
});
export const deleteRequestCodec = message<DeleteRequest>({
  key: bytes(1),
  rangeEnd: bytes(2),
  prevKv: bool(3),
});
export const deleteResponseCodec = message<DeleteResponse>({
  ...withHeader,
  deleted: int(2),
  prevKvs: many(3, keyValueCodec),
});
const compare = message<CompareMessage>({
  result: int(1),
  target: int(2),
  key: bytes(3),
  version: int(4),
  createRevision: int(5),
  modRevision: int(6),
  value: bytes(7),
  lease: int(8),
  rangeEnd: bytes(64),
});
const requestOp = message<RequestOp>({
  range: sub(1, rangeRequestCodec),
  put: sub(2, putRequestCodec),
  delete: sub(3, deleteRequestCodec),
});
const responseOp = message<ResponseOp>({
  range: sub(1, rangeResponseCodec),
  put: sub(2, putResponseCodec),
  delete: sub(3, deleteResponseCodec),
});
export const txnRequestCodec = message<TxnRequest>({
  compare: many(1, compare),
  success: many(2, requestOp),
  failure: many(3, requestOp),
});
export const txnResponseCodec = message<TxnResponse>({
  ...withHeader,
  succeeded: bool(2),
  responses: many(3, responseOp),
});
export const compactRequestCodec = message<CompactRequest>({ revision: int(1), physical: bool(2) });
const watchCreate = message<WatchCreate>({
  key: bytes(1),
  rangeEnd: bytes(2),
  startRevision: int(3),
  progressNotify: bool(4),
  filters: { number: 5, kind: 'int64', repeated: true },
  prevKv: bool(6),
  watchId: int(7),
});
export const watchRequestCodec = message<WatchRequest>({
  create: sub(1, watchCreate),
  cancel: sub(2, message<{ readonly watchId: number }>({ watchId: int(1) })),
  progress: sub(3, emptyCodec),
});
export const watchResponseCodec = message<WatchResponse>({
  ...withHeader,
  watchId: int(2),
  created: bool(3),
  canceled: bool(4),
  compactRevision: int(5),
  cancelReason: text(6),
  events: many(11, event),
});
export const leaseGrantRequestCodec = message<LeaseGrantRequest>({ ttl: int(1), id: int(2) });
export const leaseGrantResponseCodec = message<LeaseGrantResponse>({
  ...withHeader,
  id: int(2),
  ttl: int(3),
});
export const leaseIdCodec = message<LeaseIdRequest>({ id: int(1) });
export const timeToLiveRequestCodec = message<TimeToLiveRequest>({ id: int(1), keys: bool(2) });
export const timeToLiveResponseCodec = message<TimeToLiveResponse>({
  ...withHeader,
  id: int(2),
  ttl: int(3),
  grantedTtl: int(4),
  keys: { number: 5, kind: 'bytes', repeated: true },
});
export const leasesResponseCodec = message<LeasesResponse>({
  ...withHeader,
  leases: many(2, leaseIdCodec),
});
const member = message<Member>({
  id: int(1),
  name: text(2),
  peerUrls: { number: 3, kind: 'string', repeated: true },
  clientUrls: { number: 4, kind: 'string', repeated: true },
});
export const membersResponseCodec = message<MembersResponse>({
  ...withHeader,
  members: many(2, member),
});
export const statusResponseCodec = message<StatusResponse>({
  ...withHeader,
  version: text(2),
  dbSize: int(3),
  leader: int(4),
  raftIndex: int(5),
  raftTerm: int(6),
  raftAppliedIndex: int(7),
  dbSizeInUse: int(9),
});

/** The gRPC services over a LocalStore; paths and semantics are etcd's. */
import type {
  handleUnaryCall,
  MethodDefinition,
  Server,
  ServerDuplexStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { codeOf, messageOf } from '../../common/errors.ts';
import type { LocalStore } from './local-store.ts';
import * as wire from './messages.ts';
import { StateError } from './state-error.ts';
import { WatchStream } from './watch-stream.ts';
import { type Codec, WireError } from './wire.ts';

/** The version we answer to `endpoint status`: the API's, as far as it is served. */
const API_VERSION = '3.4.0';
const UNAVAILABLE = 14;

type Method<Q extends object, R extends object> = MethodDefinition<Partial<Q>, Partial<R>>;

function method<Q extends object, R extends object>(
  path: string,
  request: Codec<Q>,
  response: Codec<R>,
  stream = false,
): Method<Q, R> {
  return {
    path: `/etcdserverpb.${path}`,
    requestStream: stream,
    responseStream: stream,
    requestSerialize: (value) => request.encode(value),
    requestDeserialize: (bytes) => request.decode(bytes),
    responseSerialize: (value) => response.encode(value),
    responseDeserialize: (bytes) => response.decode(bytes),
  };
}

/** Registers every service the embedded store has. */
export function addServices(server: Server, store: LocalStore, url: () => string): void {
  addKv(server, store);
  addWatch(server, store);
  addLease(server, store);
  addMaintenance(server, store, url);
}

/** Answers with what `run` gives, or with the gRPC status of what it throws. */
function unary<Q, R>(run: (request: Q) => Promise<R>): handleUnaryCall<Q, R> {
  return (call, answer) => {
    run(call.request).then(
      (response) => answer(null, response),
      (error: unknown) => answer({ code: statusOf(error), details: messageOf(error) }),
    );
  };
}

function statusOf(error: unknown): number {
  if (error instanceof StateError) return error.status;
  if (error instanceof WireError) return 3;
  return codeOf(error) === 'BUSY' ? 8 : UNAVAILABLE;
}

function add(
  server: Server,
  methods: ServiceDefinition<UntypedServiceImplementation>,
  implementation: UntypedServiceImplementation,
): void {
  server.addService(methods, implementation);
}

function addKv(server: Server, store: LocalStore): void {
  const methods = {
    range: method('KV/Range', wire.rangeRequestCodec, wire.rangeResponseCodec),
    put: method('KV/Put', wire.putRequestCodec, wire.putResponseCodec),
    delete: method('KV/DeleteRange', wire.deleteRequestCodec, wire.deleteResponseCodec),
    txn: method('KV/Txn', wire.txnRequestCodec, wire.txnResponseCodec),
    compact: method('KV/Compact', wire.compactRequestCodec, wire.headerOnlyCodec),
  };
  add(server, methods, {
    range: unary(async (request: wire.RangeRequest) => {
      const { result, header } = await store.read((state) => state.range(request));
      return { ...result, header };
    }),
    put: unary(async (request: wire.PutRequest) => {
      const { result, header } = await store.execute('put', wire.putRequestCodec.encode(request));
      return { ...result, header };
    }),
    delete: unary(async (request: wire.DeleteRequest) => {
      const payload = wire.deleteRequestCodec.encode(request);
      const { result, header } = await store.execute('delete', payload);
      return { ...result, header };
    }),
    txn: unary(async (request: wire.TxnRequest) => {
      const payload = wire.txnRequestCodec.encode(request);
      const { result, header } = await store.execute('transaction', payload);
      return { ...result, header };
    }),
    compact: unary(async (request: wire.CompactRequest) => {
      const { header } = await store.execute('compact', wire.compactRequestCodec.encode(request));
      return { header };
    }),
  });
}

function addWatch(server: Server, store: LocalStore): void {
  const methods = {
    watch: method('Watch/Watch', wire.watchRequestCodec, wire.watchResponseCodec, true),
  };
  add(server, methods, {
    watch: (call: ServerDuplexStream<wire.WatchRequest, Partial<wire.WatchResponse>>) => {
      const stream = new WatchStream(store, { write: (response) => call.write(response) });
      call.on('data', (request: wire.WatchRequest) => stream.receive(request));
      call.on('drain', () => stream.drained());
      closeWith(call, () => stream.close());
    },
  });
}

/** Runs `close` however the client's stream ends, and ends ours. */
function closeWith<Q, R>(call: ServerDuplexStream<Q, R>, close: () => void): void {
  call.on('cancelled', close);
  call.on('error', close);
  call.on('end', () => {
    close();
    call.end();
  });
}

function addLease(server: Server, store: LocalStore): void {
  const { leaseIdCodec } = wire;
  const methods = {
    grant: method('Lease/LeaseGrant', wire.leaseGrantRequestCodec, wire.leaseGrantResponseCodec),
    revoke: method('Lease/LeaseRevoke', leaseIdCodec, wire.headerOnlyCodec),
    keepAlive: method('Lease/LeaseKeepAlive', leaseIdCodec, wire.leaseGrantResponseCodec, true),
    timeToLive: method(
      'Lease/LeaseTimeToLive',
      wire.timeToLiveRequestCodec,
      wire.timeToLiveResponseCodec,
    ),
    leases: method('Lease/LeaseLeases', wire.emptyCodec, wire.leasesResponseCodec),
  };
  add(server, methods, {
    grant: unary(async (request: wire.LeaseGrantRequest) => {
      const id = request.id === 0 ? store.state.freeLease() : request.id;
      const payload = wire.leaseGrantRequestCodec.encode({ id, ttl: request.ttl });
      const { header } = await store.execute('grant', payload);
      store.leases.start(id, request.ttl * 1_000);
      return { header, id, ttl: request.ttl };
    }),
    revoke: unary(async ({ id }: wire.LeaseIdRequest) => {
      const { header } = await store.execute('revoke', leaseIdCodec.encode({ id }));
      store.leases.stop(id);
      return { header };
    }),
    keepAlive: (call: ServerDuplexStream<wire.LeaseIdRequest, object>) => {
      call.on('data', ({ id }: wire.LeaseIdRequest) => {
        const ttl = store.leases.keepAlive(id) ? (store.state.leases.get(id)?.ttlSeconds ?? 0) : 0;
        call.write({ header: store.durableHeader(), id, ttl });
      });
      closeWith(call, () => {});
    },
    timeToLive: unary((request: wire.TimeToLiveRequest) => timeToLive(store, request)),
    leases: unary(async () => {
      const { result, header } = await store.read((state) => [...state.leases.keys()]);
      return { header, leases: result.map((id) => ({ id })) };
    }),
  });
}

async function timeToLive(store: LocalStore, { id, keys }: wire.TimeToLiveRequest) {
  const { result, header } = await store.read((state) => state.leases.get(id));
  if (result === undefined) return { header, id, ttl: -1 };
  const ttl = Math.floor((store.leases.remainingMs(id) ?? 0) / 1_000);
  const names = keys ? [...result.keys].map((key) => Buffer.from(key, 'latin1')) : [];
  return { header, id, ttl, grantedTtl: result.ttlSeconds, keys: names };
}

function addMaintenance(server: Server, store: LocalStore, url: () => string): void {
  const status = method('Maintenance/Status', wire.emptyCodec, wire.statusResponseCodec);
  add(
    server,
    { status },
    {
      status: unary(async () => {
        const { result, header } = await store.read((state) => state);
        const index = header.revision;
        return {
          header,
          version: API_VERSION,
          dbSize: result.bytes,
          dbSizeInUse: result.bytes,
          leader: header.memberId,
          raftIndex: index,
          raftTerm: header.raftTerm,
          raftAppliedIndex: index,
        };
      }),
    },
  );
  const members = method('Cluster/MemberList', wire.emptyCodec, wire.membersResponseCodec);
  add(
    server,
    { members },
    {
      members: unary(async () => {
        const { header } = await store.read(() => undefined);
        const member = { id: header.memberId, name: 'kvorum', peerUrls: [], clientUrls: [url()] };
        return { header, members: [member] };
      }),
    },
  );
}

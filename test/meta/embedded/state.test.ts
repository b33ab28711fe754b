import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { decodeSnapshot, encodeSnapshot } from '../../../src/meta/embedded/format.ts';
import {
  type DeleteRequest,
  deleteRequestCodec,
  type PutRequest,
  putRequestCodec,
  type TxnRequest,
  txnRequestCodec,
} from '../../../src/meta/embedded/messages.ts';
import { emptyImage, StoreState } from '../../../src/meta/embedded/state.ts';
import { compareRows } from './compare-rows.ts';

function putOf(key: string, value: string | Buffer, lease = 0): PutRequest {
  const request = { key: Buffer.from(key), value: Buffer.from(value), lease };
  return putRequestCodec.decode(putRequestCodec.encode(request));
}

function deleteOf(key: string, rangeEnd = ''): DeleteRequest {
  const request = { key: Buffer.from(key), rangeEnd: Buffer.from(rangeEnd) };
  return deleteRequestCodec.decode(deleteRequestCodec.encode(request));
}

function txnOf(request: Partial<TxnRequest>): TxnRequest {
  const whole = { compare: [], success: [], failure: [], ...request };
  return txnRequestCodec.decode(txnRequestCodec.encode(whole));
}

function keysOf(state: StoreState): string[] {
  return state.image().items.map(({ key }) => key.toString());
}

test('a lease is granted only under an id that a snapshot can hold', () => {
  const state = new StoreState(emptyImage(1));
  expect(() => state.grantLease({ id: -5, ttl: 60 })).toThrow('lease id below zero');
  state.grantLease({ id: Number.MAX_SAFE_INTEGER, ttl: 60 });
  const image = state.image();
  expect(image.leases).toEqual([{ id: Number.MAX_SAFE_INTEGER, ttlSeconds: 60 }]);
  expect(decodeSnapshot(encodeSnapshot(image))).toEqual(image);
});

test('a lease is granted under an id of its own, whatever ids clients have chosen', () => {
  const state = new StoreState(emptyImage(1));
  const counted = 2 ** 44;
  for (const id of [counted - 1, counted, counted + 1]) state.grantLease({ id, ttl: 60 });
  for (let at = 0; at < 3; at++) {
    const id = state.freeLease();
    expect([...state.leases.keys()]).not.toContain(id);
    state.grantLease({ id, ttl: 60 });
  }
});

test('there are no more leases than their bound', () => {
  const state = new StoreState(emptyImage(1));
  const grant = () => state.grantLease({ id: state.freeLease(), ttl: 60 });
  for (let at = 0; at < limits.metaLeasesMax; at++) grant();
  expect(grant).toThrow('space exceeded');
  state.revokeLease(state.freeLease() - 1);
  grant();
});

test('a key ends with the lease it was put under last, and with no other', () => {
  const state = new StoreState(emptyImage(1));
  for (const id of [1, 2]) state.grantLease({ id, ttl: 60 });
  for (const key of ['/moved', '/freed', '/again', '/stays']) state.put(putOf(key, 'x', 1));
  state.put(putOf('/moved', 'y', 2));
  state.put(putOf('/freed', 'y'));
  state.delete(deleteOf('/again'));
  state.put(putOf('/again', 'y'));
  state.revokeLease(1);
  expect(keysOf(state)).toEqual(['/again', '/freed', '/moved']);
  state.revokeLease(2);
  expect(keysOf(state)).toEqual(['/again', '/freed']);
});

test('no more is stored than its bound; what was overwritten or removed counts no more', () => {
  const state = new StoreState(emptyImage(1));
  const { metaValueBytesMax: most, metaDataBytesMax } = limits;
  const value = Buffer.alloc(most);
  // one buffer for all: what is kept of them is a reference
  const bulky = (key: string, what = value): PutRequest => ({ ...putOf(key, ''), value: what });
  const put = (key: string, what = value) => state.put(bulky(key, what));
  const fit = Math.floor(metaDataBytesMax / (most + '/000'.length));
  const names = Array.from({ length: fit }, (_, at) => `/${String(at).padStart(3, '0')}`);
  for (const name of names) put(name);
  const full = state.bytes;
  expect(() => put('/x')).toThrow('space exceeded');
  const transaction = { ...txnOf({}), success: [{ put: bulky('/x') }] };
  expect(() => state.transaction(transaction)).toThrow('space exceeded');
  expect([state.bytes, full]).toEqual([full, fit * (most + 4)]);
  put(names[0]!, Buffer.alloc(0));
  expect(state.bytes).toBe(full - most);
  state.delete(deleteOf(names[1]!));
  expect(state.bytes).toBe(full - 2 * most - 4);
  put('/x');
  for (let at = 0; at < 3; at++) put('/x');
  expect(state.bytes).toBe(full - most - 2);
});

test('what has gone out of the history cannot be compacted, nor read', () => {
  const state = new StoreState(emptyImage(1));
  const put = putOf('/a', 'x');
  for (let at = 0; at <= limits.metaHistoryEventsMax; at++) state.put(put);
  expect(() => state.compact({ revision: 2, physical: false })).toThrow('has been compacted');
  state.compact({ revision: 3, physical: false });
});

test('a transaction is refused for what is wrong with either branch, and with its compares', () => {
  const state = new StoreState(emptyImage(1));
  const { metaTxnOperationsMax, metaKeyBytesMax, metaValueBytesMax } = limits;
  const many = (length: number) => Array.from({ length }, (_, at) => Buffer.from(`/${at}`));
  const compareOf = (key: Buffer) => ({ key }) as TxnRequest['compare'][number];
  const compares = (count: number) => ({ compare: many(count).map(compareOf) });
  const puts = (count: number) => many(count).map((key) => ({ put: putOf(key.toString(), 'x') }));
  const refusal = (request: Partial<TxnRequest>) => {
    try {
      state.transaction(txnOf(request));
      return undefined;
    } catch (failure) {
      return (failure as Error).message;
    }
  };
  expect(refusal(compares(metaTxnOperationsMax))).toBeUndefined();
  expect(refusal(compares(metaTxnOperationsMax + 1))).toMatch('too many operations');
  expect(refusal({ compare: [compareOf(Buffer.alloc(0))] })).toMatch('key is not provided');
  expect(refusal({ compare: [compareOf(Buffer.alloc(metaKeyBytesMax + 1))] })).toMatch('too large');
  for (const branch of ['success', 'failure'] as const) {
    const of = (operations: TxnRequest['success']) => refusal({ [branch]: operations });
    expect(of(puts(metaTxnOperationsMax))).toBeUndefined();
    expect(of(puts(metaTxnOperationsMax + 1))).toMatch('too many operations');
    expect(of([{ put: putOf('', 'x') }])).toMatch('key is not provided');
    expect(of([{ put: putOf('/a', Buffer.alloc(metaValueBytesMax + 1)) }])).toMatch('too large');
    expect(of([...puts(1), ...puts(1)])).toMatch('duplicate key');
    expect(of([...puts(1), { delete: deleteOf('/', '0') }])).toMatch('duplicate key');
    expect(of([{}])).toMatch('empty transaction operation');
  }
});

test.each(compareRows)('a compare of $of', ({ request, succeeds }) => {
  const state = new StoreState(emptyImage(1));
  for (const name of ['/cmp/a', '/cmp/b']) state.put(putOf(name, 'x'));
  expect(state.transaction(request).succeeded).toBe(succeeds);
});

test('the reads of one transaction look at 32 MiB at most', () => {
  const state = new StoreState(emptyImage(1));
  const value = Buffer.alloc(1 << 20);
  for (let i = 0; i < 40; i++) {
    state.put(
      putRequestCodec.decode(putRequestCodec.encode({ key: Buffer.from(`/a/${i}`), value })),
    );
  }
  const all = { key: Buffer.from('/a/'), rangeEnd: Buffer.from('/a0') };
  const put = { key: Buffer.from('/b'), value: Buffer.from('x') };
  const run = (...success: object[]) =>
    state.transaction(txnRequestCodec.decode(txnRequestCodec.encode({ success } as never)));
  const { revision } = state;
  const many = Array.from({ length: 120 }, () => ({ range: all }));
  expect(() => run({ put }, ...many)).toThrow('look at more than 32 MiB');
  expect(state.revision).toBe(revision);
  const counts = Array.from({ length: 128 }, () => ({ range: { ...all, countOnly: true } }));
  expect(run(...counts).responses).toHaveLength(128);
  expect(run({ put }, { range: all }).responses[1]?.range?.kvs).toHaveLength(40);
  expect(run({ range: { key: put.key } }, { range: { key: put.key } }).succeeded).toBe(true);
});

test('each answer within a transaction says its revision', () => {
  const state = new StoreState(emptyImage(1));
  const [a, b] = [Buffer.from('a'), Buffer.from('b')];
  const run = (...success: object[]) =>
    state
      .transaction(txnRequestCodec.decode(txnRequestCodec.encode({ success } as never)))
      .responses.map(
        ({ put, range, delete: removal }) => (put ?? range ?? removal)?.header?.revision,
      );
  expect(run({ range: { key: a } }, { delete: { key: a } })).toEqual([1, 1]);
  const changes = [{ put: { key: a, value: b } }, { range: { key: a } }, { delete: { key: b } }];
  expect(run({ range: { key: a } }, ...changes)).toEqual([1, 2, 2, 2]);
  expect(run({ range: { key: a } })).toEqual([2]);
  expect(run({ delete: { key: a } })).toEqual([3]);
});

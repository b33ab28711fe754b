import { expect, test } from 'vitest';
import { decodeSnapshot, encodeSnapshot } from '../../../src/meta/embedded/format.ts';
import { putRequestCodec } from '../../../src/meta/embedded/messages.ts';
import { emptyImage, StoreState } from '../../../src/meta/embedded/state.ts';
import { compareRows } from './compare-rows.ts';

test('a lease is granted only under an id that a snapshot can hold', () => {
  const state = new StoreState(emptyImage(1));
  expect(() => state.grantLease({ id: -5, ttl: 60 })).toThrow('lease id below zero');
  state.grantLease({ id: Number.MAX_SAFE_INTEGER, ttl: 60 });
  const image = state.image();
  expect(image.leases).toEqual([{ id: Number.MAX_SAFE_INTEGER, ttlSeconds: 60 }]);
  expect(decodeSnapshot(encodeSnapshot(image))).toEqual(image);
});

test.each(compareRows)('a compare of $of', ({ request, succeeds }) => {
  const state = new StoreState(emptyImage(1));
  for (const name of ['/cmp/a', '/cmp/b']) {
    const item = { key: Buffer.from(name), value: Buffer.from('x') };
    state.put(putRequestCodec.decode(putRequestCodec.encode(item)));
  }
  expect(state.transaction(request).succeeded).toBe(succeeds);
});

import { expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { checkRequest } from '../../src/meta/request-check.ts';
import type { Lease, MetaOperation } from '../../src/meta/store.ts';

const { metaKeyBytesMax, metaTxnBytesMax, metaTxnOperationsMax, metaValueBytesMax } = limits;

const put = (key: string, value = '', lease?: Lease): MetaOperation => ({
  ...{ type: 'put', key, value },
  ...(lease && { lease }),
});

function refusal(...request: Parameters<typeof checkRequest>): string {
  try {
    checkRequest(...request);
    return '';
  } catch (failure) {
    return (failure as Error).message;
  }
}

test('a value and a key are measured in bytes, and may have as many as their bounds say', () => {
  const wide = 'é'.repeat(metaValueBytesMax / 2);
  expect(refusal([], [put('/a', wide)])).toBe('');
  expect(refusal([], [put('/a', `${wide}x`)])).toMatch(/value of \/a: 1048577 bytes/);
  const key = 'é'.repeat(metaKeyBytesMax / 2);
  expect(refusal([{ key, modRevision: 0 }], [{ type: 'delete', key }])).toBe('');
  expect(refusal([], [{ type: 'delete', key: `${key}x` }])).toMatch(/4097 bytes, at most 4096/);
  expect(refusal([{ key: `${key}x`, modRevision: 0 }], [])).toMatch(/4097 bytes, at most 4096/);
  expect(refusal([{ key: '', modRevision: 0 }], [])).toMatch(/empty key/);
});

test('all of a transaction counts, its compares too', () => {
  const compares = Array.from({ length: metaTxnOperationsMax }, (_, at) => ({
    key: String(at).padStart(2_048, 'k'),
    modRevision: 0,
  }));
  const left = metaTxnBytesMax - compares.length * 2_048;
  const [a, b] = [put('/a', 'v'.repeat(left / 2 - 2)), put('/b', 'v'.repeat(left / 2 - 2))];
  expect(refusal(compares, [a, b])).toBe('');
  expect(refusal(compares, [a, b, { type: 'delete', key: '/' }])).toMatch(/of 1310721 bytes/);
});

test('nothing is put under a lease that has ended by its holder’s clock', () => {
  const lease = { id: '7', lost: AbortSignal.abort(), revoke: async () => {} };
  expect(refusal([], [put('/a', 'x', lease)])).toMatch(/put \/a: the lease has ended/);
  expect(refusal([], [put('/a', 'x', { ...lease, lost: new AbortController().signal })])).toBe('');
});

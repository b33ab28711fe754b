/** What the store takes, checked before anything is sent: the same for every adapter. */
import { KvorumError } from '../common/errors.ts';
import { limits } from '../common/limits.ts';
import type { Compare, MetaOperation } from './store.ts';

/**
 * Throws KvorumError STORE_LIMIT that says what is too much and what to do, or LEASE_LOST: a holder
 * fences itself by its own clock, also while the store still has the lease.
 */
export function checkRequest(
  compares: readonly Compare[],
  operations: readonly MetaOperation[],
): void {
  checkCount('compares', compares.length);
  checkCount('operations', operations.length);
  let bytes = 0;
  for (const { key } of compares) bytes += checkKey(key);
  const changed = new Set<string>();
  for (const operation of operations) {
    const { key } = operation;
    bytes += checkKey(key);
    if (operation.type === 'put') {
      bytes += checkValue(key, operation.value);
      if (operation.lease?.lost.aborted) {
        throw new KvorumError('LEASE_LOST', `put ${key}: the lease has ended`);
      }
    }
    if (changed.has(key)) {
      refuse(`a transaction changes ${key} twice; give each key its last change only`);
    }
    changed.add(key);
  }
  if (bytes <= limits.metaTxnBytesMax) return;
  refuse(
    `a transaction of ${bytes} bytes: at most ${limits.metaTxnBytesMax}; ` +
      'write the records in several transactions, each with its compares',
  );
}

function checkCount(what: string, count: number): void {
  if (count <= limits.metaTxnOperationsMax) return;
  refuse(
    `a transaction of ${count} ${what}: at most ${limits.metaTxnOperationsMax}; ` +
      'write the records in several transactions, each with its compares',
  );
}

function checkKey(key: string): number {
  const bytes = Buffer.byteLength(key);
  if (bytes === 0) refuse('an empty key; name the record');
  if (bytes > limits.metaKeyBytesMax) {
    refuse(
      `key ${key.slice(0, 64)}…: ${bytes} bytes, at most ${limits.metaKeyBytesMax}; shorten it`,
    );
  }
  return bytes;
}

function checkValue(key: string, value: string): number {
  const bytes = Buffer.byteLength(value);
  if (bytes <= limits.metaValueBytesMax) return bytes;
  return refuse(
    `value of ${key}: ${bytes} bytes, at most ${limits.metaValueBytesMax}; ` +
      'spread the record over several keys',
  );
}

function refuse(problem: string): never {
  throw new KvorumError('STORE_LIMIT', `metadata request refused: ${problem}`);
}

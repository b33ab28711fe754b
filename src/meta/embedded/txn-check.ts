/** What can be said against a request without knowing the state. */
import { limits } from '../../common/limits.ts';
import { inRange, keyText } from './key-space.ts';
import type { PutRequest, RequestOp, TxnRequest } from './messages.ts';
import { StateError } from './state-error.ts';

/** Throws unless the key is given and within its bound. */
export function checkKey(key: Buffer): void {
  if (key.length === 0) throw new StateError('empty-key');
  if (key.length > limits.metaKeyBytesMax) throw new StateError('too-large');
}

export function checkPutKeys({ key, value, lease, ignoreValue, ignoreLease }: PutRequest): void {
  checkKey(key);
  if (value.length > limits.metaValueBytesMax) throw new StateError('too-large');
  if (ignoreValue && value.length > 0) throw new StateError('value-provided');
  if (ignoreLease && lease !== 0) throw new StateError('lease-provided');
}

/** Both branches are checked, whichever will be taken. */
export function checkTxn({ compare, success, failure }: TxnRequest): void {
  const most = Math.max(compare.length, success.length, failure.length);
  if (most > limits.metaTxnOperationsMax) throw new StateError('too-many-operations');
  for (const { key } of compare) checkKey(key);
  for (const branch of [success, failure]) checkBranch(branch);
}

/** No key may change twice in one revision. */
function checkBranch(operations: readonly RequestOp[]): void {
  const puts = new Set<string>();
  for (const { put, delete: removal, range } of operations) {
    if (put) {
      checkPutKeys(put);
      const key = keyText(put.key);
      if (puts.has(key)) throw new StateError('duplicate-key');
      puts.add(key);
    } else if (removal) {
      checkKey(removal.key);
    } else if (range) {
      checkKey(range.key);
    } else {
      throw new StateError('bad-operation');
    }
  }
  for (const { delete: removal } of operations) {
    if (!removal) continue;
    const start = keyText(removal.key);
    const end = keyText(removal.rangeEnd);
    for (const key of puts) {
      if (inRange(key, start, end)) throw new StateError('duplicate-key');
    }
  }
}

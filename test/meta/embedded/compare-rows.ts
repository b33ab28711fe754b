/** Transactions that compare whole ranges: what etcd answers, and so must the embedded store. */
import { type TxnRequest, txnRequestCodec } from '../../../src/meta/embedded/messages.ts';

const target = { version: 0, created: 1, changed: 2, value: 3, lease: 4 } as const;
const result = { equal: 0, greater: 1, less: 2, unequal: 3 } as const;

export interface CompareRow {
  readonly of: string;
  readonly request: TxnRequest;
  readonly succeeds: boolean;
}

type Rest = Readonly<{
  to?: string;
  is?: keyof typeof result;
  version?: number;
  createRevision?: number;
  value?: string;
  lease?: number;
}>;

function row(
  of: string,
  key: string,
  what: keyof typeof target,
  rest: Rest,
  succeeds: boolean,
): CompareRow {
  const { to = '', is = 'equal', value = '', ...numbers } = rest;
  const compare = {
    ...numbers,
    key: Buffer.from(key),
    rangeEnd: Buffer.from(to),
    target: target[what],
    result: result[is],
    value: Buffer.from(value),
  };
  const partial = { compare: [compare], success: [], failure: [] } as unknown as TxnRequest;
  return { of, request: txnRequestCodec.decode(txnRequestCodec.encode(partial)), succeeds };
}

/** Beside /cmp/a and /cmp/b, each written once with the value x and no lease. */
export const compareRows: readonly CompareRow[] = [
  row('all keys', '/cmp/', 'version', { to: '/cmp0', version: 1 }, true),
  row('all keys, some of which differ', '/cmp/', 'value', { to: '/cmp0', value: 'y' }, false),
  row('no keys: version 0', '/none/', 'version', { to: '/none0' }, true),
  row('no keys: version 5', '/none/', 'version', { to: '/none0', version: 5 }, false),
  row('no keys: created later', '/none/', 'created', { to: '/none0', is: 'greater' }, false),
  row('no keys: changed at 0', '/none/', 'changed', { to: '/none0' }, true),
  row('no keys: lease 7', '/none/', 'lease', { to: '/none0', lease: 7 }, false),
  row('no keys: an empty value', '/none/', 'value', { to: '/none0' }, false),
  row('no keys: another value', '/none/', 'value', { to: '/none0', is: 'unequal' }, false),
  row('no key: never created', '/none/a', 'created', {}, true),
  row('no key: another value', '/none/a', 'value', { is: 'unequal', value: 'x' }, false),
];

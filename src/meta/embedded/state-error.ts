/** Refusals of the state machine, with etcd's own texts and gRPC status codes. */

/** gRPC status numbers: 3 invalid argument, 5 not found, 8 exhausted, 9 precondition, 11 range. */
const refusals = {
  'no-key': { status: 3, text: 'etcdserver: key not found' },
  'empty-key': { status: 3, text: 'etcdserver: key is not provided' },
  'value-provided': { status: 3, text: 'etcdserver: value is provided' },
  'lease-provided': { status: 3, text: 'etcdserver: lease is provided' },
  'bad-operation': { status: 3, text: 'etcdserver: nested or empty transaction operation' },
  'too-many-operations': { status: 3, text: 'etcdserver: too many operations in txn request' },
  'duplicate-key': { status: 3, text: 'etcdserver: duplicate key given in txn request' },
  'too-large': { status: 3, text: 'etcdserver: request is too large' },
  'reads-too-large': {
    status: 8,
    text: 'etcdserver: the reads of this transaction look at more than 32 MiB',
  },
  'no-lease': { status: 5, text: 'etcdserver: requested lease not found' },
  'lease-exists': { status: 9, text: 'etcdserver: lease already exists' },
  'bad-lease': {
    status: 3,
    text: 'etcdserver: lease id below zero, which this store does not take',
  },
  'bad-ttl': { status: 11, text: 'etcdserver: too large or small lease TTL' },
  'no-space': { status: 8, text: 'etcdserver: mvcc: database space exceeded' },
  compacted: { status: 11, text: 'etcdserver: mvcc: required revision has been compacted' },
  'future-revision': {
    status: 11,
    text: 'etcdserver: mvcc: required revision is a future revision',
  },
} as const;

export type Refusal = keyof typeof refusals;

export class StateError extends Error {
  override readonly name = 'StateError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusals[refusal].text);
    this.refusal = refusal;
  }

  get status(): number {
    return refusals[this.refusal].status;
  }
}

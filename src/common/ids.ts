/**
 * The words for identities that every room shares.
 *
 * Numbers and strings are *flavoured*: a plain literal may be given where an id is wanted (so that
 * `index + 1` stays readable), but one kind of id never passes for another.
 */

type Flavour<T, Name extends string> = T & { readonly __flavour?: Name };

/** Name of a datanode or placedriver, unique in the cluster, chosen by its operator. */
export type NodeId = Flavour<string, 'NodeId'>;
/** Random 16-hex id of one life of a data directory; a wiped directory is a new incarnation. */
export type Incarnation = Flavour<string, 'Incarnation'>;
/** Name of a namespace: `default`, `db1`, … */
export type Namespace = Flavour<string, 'Namespace'>;
/** Number of a partition within its namespace, from 0. */
export type PartitionId = Flavour<number, 'PartitionId'>;
/** Number of a raft group, unique in the cluster for ever. */
export type GroupId = Flavour<number, 'GroupId'>;
/** Number of one replica of one group: the id raft knows. Unique in the cluster, never reused. */
export type ReplicaId = Flavour<number, 'ReplicaId'>;
/** A raft term; grows from 0. */
export type Term = Flavour<number, 'Term'>;
/** An index in a group's log; the first entry has index 1. */
export type LogIndex = Flavour<number, 'LogIndex'>;
/** One of Redis Cluster's 16,384 hash slots. */
export type Slot = Flavour<number, 'Slot'>;
/** A version of a partition's wanted record, from 1; grows by one with each. */
export type Epoch = Flavour<number, 'Epoch'>;
/** A revision of the metadata store; grows with every write. */
export type Revision = Flavour<number, 'Revision'>;

/**
 * What ZanRedisDB's clients are told when a node cannot take a command. They go by the beginning:
 * ERR_CLUSTER_CHANGED and "the node stopped" mean to ask the placedriver again and to send the same
 * once more, so these are said only when nothing happened; all else ends the command. Pure.
 */
import type { CommandLine } from '../partition/entries/batch.ts';
import { error, type Reply } from '../resp/reply.ts';
import type { Fate } from '../server/lane.ts';

const CHANGED = 'ERR_CLUSTER_CHANGED:';
export const NO_NAMESPACE = `${CHANGED} namespace is not found`;
export const NO_PARTITION = `${CHANGED} partition of the namespace is not found`;
export const NOT_LEADER = `${CHANGED} partition of the namespace is not leader on the node`;
export const NO_LEADER = `${CHANGED} partition of the node has no leader`;
export const NOT_READY = `${CHANGED} raft group not ready`;
export const STOPPED = 'the node stopped';
export const INVALID_COMMAND = 'invalid command';
export const INVALID_KEY = 'invalid redis key';
export const INVALID_TABLE = 'invalid table name';
export const INVALID_ARGUMENTS = 'invalid arguments';
export const INVALID_CURSOR = 'invalid scan cursor';
/** A namespace whose keys go by Redis's slots: asking again would not help. */
export const OTHER_HASH =
  "ERR the namespace deals its keys out by Redis's slots; this port serves those that were " +
  'created with hash=murmur3';

const SHOWN_BYTES_MAX = 128;

/** The text with what it was about, as ZanRedisDB ends its errors: the command and its first key. */
export function refusal(text: string, line: CommandLine): Reply {
  const shown = line.slice(0, 2).map((word) => word.toString('latin1', 0, SHOWN_BYTES_MAX));
  const about = shown.join(', ').replace(/[\r\n]/g, ' ');
  return error(`${text} : ERR handle command ${about}`);
}

/** Nothing happened, and soon something may: what kvorum's own doors say so with. */
const TRY_AGAIN = /^(?:CLUSTERDOWN|TRYAGAIN|LOADING) /;

/** What a lane settled with, in this family of errors; `line` as the client sent it. */
export function asZanSays(reply: Reply, fate: Fate, line: CommandLine): Reply {
  if (fate === 'done' || reply.kind !== 'error') return reply;
  if (fate === 'unknown') return refusal(`context deadline exceeded: ${reply.text}`, line);
  if (TRY_AGAIN.test(reply.text)) return refusal(`${NOT_READY}: ${reply.text}`, line);
  return reply;
}

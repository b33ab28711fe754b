/**
 * What is refused for the sake of pub/sub: other commands while a RESP2 client is subscribed (its
 * replies and its messages would look alike), and on the cluster port shard channels of several
 * slots, or of a slot that another node leads.
 */
import { slotOfKey } from '../../common/hash.ts';
import { isSubscribed } from '../commands/pubsub/pubsub-port.ts';
import { type Command, keysOf } from '../commands/rows/command.ts';
import { isClusterDoor, type Session } from '../commands/rows/node-context.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { error, type Reply } from '../resp/reply.ts';
import type { Router } from '../routing/router.ts';
import { redirectTo } from './redirect.ts';

const WHILE_SUBSCRIBED = /^(?:[ps]?(?:un)?subscribe|ping|quit|reset)$/;
const SHARD_COMMANDS = new Set(['ssubscribe', 'sunsubscribe', 'spublish']);

const crossSlot = error("CROSSSLOT Keys in request don't hash to the same slot");

export function refusedByChannels(
  command: Command,
  args: CommandLine,
  session: Session,
  router: Router,
): Reply | undefined {
  const { name } = command;
  if (session.protocol === 2 && isSubscribed(session.subscriber) && !WHILE_SUBSCRIBED.test(name)) {
    return error(
      `ERR Can't execute '${name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET ` +
        'are allowed in this context',
    );
  }
  if (!isClusterDoor(session) || !SHARD_COMMANDS.has(name)) return undefined;
  return refusedShardChannels(command, args, session, router);
}

function refusedShardChannels(
  command: Command,
  args: CommandLine,
  { namespace }: Session,
  router: Router,
): Reply | undefined {
  const channels = keysOf(command, args);
  const slot = channels[0] && slotOfKey(channels[0]);
  if (slot === undefined) return undefined;
  if (channels.some((channel) => slotOfKey(channel) !== slot)) return crossSlot;
  // Leaving is never sent elsewhere: it was here that the client subscribed.
  if (command.name === 'sunsubscribe') return undefined;
  const partition = router.routes.partitionOfSlot(namespace, slot);
  if (partition === undefined) return undefined;
  const group = router.routes.partitions(namespace)![partition]!.group;
  return redirectTo(router, { namespace, partition, group }, args);
}

/** SUBSCRIBE, PUBLISH and their kin: messages to whoever listens now, over all datanodes. */

import { limits } from '../../../common/limits.ts';
import { encodeReply } from '../../resp/encode-reply.ts';
import { array, bulk, error, integer, NULL, type Protocol, type Reply } from '../../resp/reply.ts';
import { argument } from '../rows/args.ts';
import {
  ALL_KEYS,
  type Command,
  FIRST_KEY,
  type KeyPositions,
  NO_KEYS,
  type NodeCommand,
  node,
} from '../rows/command.ts';
import { helpReply } from '../rows/help.ts';
import type { NodeContext, Session } from '../rows/node-context.ts';
import { matchesGlob, parseGlob, patternRefusal } from '../texts/glob.ts';
import {
  channelTooLong,
  type PublishKind,
  type PubSubScope,
  type SubscriptionKind,
  subscriptionCount,
} from './pubsub-port.ts';

type Run = NodeCommand['run'];

/** Confirmations that are joined to one piece. */
const JOINED = 512;

/** One push for each name, in the place of a reply. */
class Confirmations {
  readonly #joined: Buffer[] = [];
  #pushes: Buffer[] = [];

  add(word: string, name: Buffer | undefined, count: number, protocol: Protocol): void {
    const items = [bulk(word), name === undefined ? NULL : bulk(name), integer(count)];
    this.#pushes.push(encodeReply({ kind: 'push', items }, protocol));
    if (this.#pushes.length === JOINED) this.#join();
  }

  get reply(): Reply {
    this.#join();
    return { kind: 'encoded', bytes: Buffer.concat(this.#joined) };
  }

  #join(): void {
    this.#joined.push(Buffer.concat(this.#pushes));
    this.#pushes = [];
  }
}

/**
 * Changes subscriptions in steps: no command of many names holds up all others. `change` says what is
 * wrong, before the first. Confirmed once the peers know.
 */
function inTurns(
  word: string,
  kind: SubscriptionKind,
  { pubsub, session }: NodeContext,
  names: readonly (Buffer | undefined)[],
  change: { readonly refusal: () => string | undefined; readonly make: (name: Buffer) => void },
): Reply | Promise<Reply> {
  const confirmations = new Confirmations();
  let refusal: string | undefined;
  function* steps(): Generator<void, void> {
    // others may have changed theirs since this came
    refusal = change.refusal();
    if (refusal !== undefined) return;
    for (const name of names) {
      if (name !== undefined) change.make(name);
      const count = subscriptionCount(session.subscriber, kind);
      yield confirmations.add(word, name, count, session.protocol);
    }
  }
  const finish = () => {
    if (refusal !== undefined) return error(refusal);
    const { reply } = confirmations;
    return pubsub.told()?.then(() => reply) ?? reply;
  };
  return pubsub.inTurns(steps())?.then(finish) ?? finish();
}

/** SUBSCRIBE channel [channel ...]: confirmed once the peers know, so no later message is missed. */
const subscribe =
  (word: string, kind: SubscriptionKind): Run =>
  (args, context) => {
    const { pubsub, session } = context;
    const names = args.slice(1);
    return inTurns(word, kind, context, names, {
      refusal: () => pubsub.refusal(names),
      make: (name) => pubsub.subscribe(session.subscriber, kind, name),
    });
  };

/** UNSUBSCRIBE [channel [channel ...]]: confirmed when no PUBLISH counts it any more. */
const unsubscribe =
  (word: string, kind: SubscriptionKind): Run =>
  (args, context) => {
    const { pubsub, session } = context;
    const own = [...session.subscriber.subscriptions[kind].values()];
    const names = args.length > 1 ? args.slice(1) : own.length > 0 ? own : [undefined];
    return inTurns(word, kind, context, names, {
      refusal: () => undefined,
      make: (name) => pubsub.unsubscribe(session.subscriber, kind, name),
    });
  };

/** PUBLISH channel message; to a longer name nobody can have subscribed, and patterns take their time. */
const publish =
  (kind: PublishKind): Run =>
  (args, { pubsub }) => {
    const channel = argument(args, 1);
    if (channel.length > limits.channelBytesMax) return error(channelTooLong(channel));
    const reached = pubsub.publishWhenRoom(kind, channel, argument(args, 2));
    return typeof reached === 'number' ? integer(reached) : reached.then(integer);
  };

/**
 * Clients of Redis Cluster ask every node, and add up what they are told. They take follower ports for
 * nodes as well: whose clients those are is told at the cluster port. `undefined`: nobody's.
 */
function scopeAt({ door }: Session): PubSubScope | undefined {
  if (door === 'follower') return undefined;
  return door === 'cluster' ? 'node' : 'cluster';
}

/** PUBSUB CHANNELS [pattern] */
const channels =
  (kind: PublishKind): Run =>
  (args, { pubsub, session }) => {
    if (args.length > 3) {
      const given = argument(args, 1).toString();
      return error(
        `ERR unknown subcommand or wrong number of arguments for '${given}'. Try PUBSUB HELP.`,
      );
    }
    const refusal = args[2] && patternRefusal(args[2]);
    if (refusal !== undefined) return error(refusal);
    const glob = args[2] && parseGlob(args[2]);
    const scope = scopeAt(session);
    const names = scope === undefined ? [] : [...pubsub.names(kind, scope)];
    return array((glob ? names.filter((name) => matchesGlob(glob, name)) : names).map(bulk));
  };

/** PUBSUB NUMSUB [channel [channel ...]] */
const subscribers =
  (kind: PublishKind): Run =>
  (args, { pubsub, session }) => {
    const scope = scopeAt(session);
    const count = (name: Buffer) => (scope === undefined ? 0 : pubsub.count(kind, name, scope));
    return array(args.slice(2).flatMap((name) => [bulk(name), integer(count(name))]));
  };

/** PUBSUB NUMPAT: patterns, each once. */
const patterns: Run = (_args, { pubsub, session }) => {
  const scope = scopeAt(session);
  return integer(scope === undefined ? 0 : pubsub.nameCount('pattern', scope));
};

function row(
  name: string,
  arity: number,
  keys: KeyPositions,
  since: string,
  summary: string,
  run: Run,
): NodeCommand {
  const fast = name.endsWith('publish');
  return node({
    name,
    arity,
    flags: fast
      ? ['pubsub', 'loading', 'stale', 'fast']
      : ['pubsub', 'noscript', 'loading', 'stale'],
    keys,
    categories: [],
    group: 'pubsub',
    since,
    summary,
    run,
  });
}

function sub(name: string, arity: number, since: string, summary: string, run: Run): NodeCommand {
  return node({
    name: `pubsub|${name}`,
    arity,
    flags: name === 'help' ? ['loading', 'stale'] : ['pubsub', 'loading', 'stale'],
    keys: NO_KEYS,
    categories: [],
    group: 'pubsub',
    since,
    summary,
    run,
  });
}

const subcommands: readonly NodeCommand[] = [
  sub('channels', -2, '2.8.0', 'Returns channels that have subscribers.', channels('channel')),
  sub('numsub', -2, '2.8.0', 'Returns how many subscribers channels have.', subscribers('channel')),
  sub('numpat', 2, '2.8.0', 'Returns how many patterns have subscribers.', patterns),
  sub('shardchannels', -2, '7.0.0', 'Returns shard channels with subscribers.', channels('shard')),
  sub('shardnumsub', -2, '7.0.0', 'Returns subscribers per shard channel.', subscribers('shard')),
  sub('help', 2, '6.2.0', 'Lists the subcommands.', () => helpReply('pubsub', subcommands)),
];

export const pubsubCommands: readonly Command[] = [
  row(
    'subscribe',
    -2,
    NO_KEYS,
    '2.0.0',
    'Begins to listen to channels.',
    subscribe('subscribe', 'channel'),
  ),
  row(
    'unsubscribe',
    -1,
    NO_KEYS,
    '2.0.0',
    'Stops listening to channels.',
    unsubscribe('unsubscribe', 'channel'),
  ),
  row(
    'psubscribe',
    -2,
    NO_KEYS,
    '2.0.0',
    'Begins to listen to channels that match patterns.',
    subscribe('psubscribe', 'pattern'),
  ),
  row(
    'punsubscribe',
    -1,
    NO_KEYS,
    '2.0.0',
    'Stops listening to channels that match patterns.',
    unsubscribe('punsubscribe', 'pattern'),
  ),
  row(
    'ssubscribe',
    -2,
    ALL_KEYS,
    '7.0.0',
    'Begins to listen to shard channels.',
    subscribe('ssubscribe', 'shard'),
  ),
  row(
    'sunsubscribe',
    -1,
    ALL_KEYS,
    '7.0.0',
    'Stops listening to shard channels.',
    unsubscribe('sunsubscribe', 'shard'),
  ),
  row('publish', 3, NO_KEYS, '2.0.0', 'Sends a message to a channel.', publish('channel')),
  row('spublish', 3, FIRST_KEY, '7.0.0', 'Sends a message to a shard channel.', publish('shard')),
  node({
    name: 'pubsub',
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    categories: [],
    group: 'pubsub',
    since: '2.8.0',
    summary: 'A container for commands about channels.',
    subcommands,
    run: () => error('ERR syntax error'),
  }),
];

/** A client as CLIENT LIST shows it. */

import { isSubscribed } from '../pubsub/pubsub-port.ts';
import type { Session } from '../rows/node-context.ts';
import { redirectOf } from './tracking.ts';

function flagsOf(session: Session, inTransaction: boolean): string {
  const { monitors, subscriber, readOnly, noEvict, noTouch, blocked, heldBack, tracking } = session;
  const flags = [
    [monitors, 'O'],
    [isSubscribed(subscriber), 'P'],
    [inTransaction, 'x'],
    [blocked !== undefined || heldBack, 'b'],
    [tracking !== undefined, 't'],
    [tracking?.isBroken, 'R'],
    [tracking?.broadcast, 'B'],
    [readOnly, 'r'],
    [noEvict, 'e'],
    [noTouch, 'T'],
  ] as const;
  return flags.map(([is, flag]) => (is ? flag : '')).join('') || 'N';
}

/** Whom it counts as: who has not said who it is, is the default user, with rights or without. */
export function userOf({ user }: Session): string {
  return user || 'default';
}

/**
 * One line of CLIENT LIST: Redis 8.2's fields in its order, and the namespace. `command`: what it runs,
 * or ran last.
 */
export function clientLine(
  session: Session,
  nowMs: number,
  command: string = session.lastCommand,
): string {
  const seconds = (sinceMs: number) => Math.max(0, Math.floor((nowMs - sinceMs) / 1_000));
  const { requestBytes, replies, replyBytes, transaction, watched } = session.queued();
  const { inputBytes, outputBytes } = session.traffic();
  const { channel, pattern, shard } = session.subscriber.subscriptions;
  const fields = {
    id: session.id,
    addr: session.remote,
    laddr: session.local,
    fd: -1,
    name: session.clientName,
    age: seconds(session.connectedMs),
    idle: seconds(session.lastCommandMs),
    flags: flagsOf(session, transaction >= 0),
    db: /^db(\d+)$/.exec(session.namespace)?.[1] ?? 0,
    namespace: session.namespace,
    sub: channel.size,
    psub: pattern.size,
    ssub: shard.size,
    multi: transaction,
    watch: watched,
    qbuf: requestBytes,
    'qbuf-free': 0,
    'argv-mem': requestBytes,
    'multi-mem': 0,
    rbs: 0,
    rbp: 0,
    obl: 0,
    // the reply to this very command is not made yet
    oll: Math.max(0, replies - 1),
    omem: replyBytes,
    'tot-mem': requestBytes + replyBytes,
    events: 'r',
    cmd: command || 'NULL',
    user: userOf(session),
    redir: redirectOf(session),
    resp: session.protocol,
    'lib-name': session.libraryName,
    'lib-ver': session.libraryVersion,
    'io-thread': 0,
    'tot-net-in': inputBytes,
    'tot-net-out': outputBytes,
    'tot-cmds': session.commandsRun,
  };
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

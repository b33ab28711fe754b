/** What a connection knows about its client; commands like HELLO and CLIENT read and change it. */
import type { Namespace } from '../../common/ids.ts';
import type { Delivery, Subscriber } from '../commands/pubsub/pubsub-port.ts';
import type { Door, Queued, Session, Traffic } from '../commands/rows/node-context.ts';
import type { Protocol, Reply } from '../resp/reply.ts';

export interface SessionStart {
  readonly id: number;
  readonly door: Door;
  readonly remote: string;
  readonly local: string;
  readonly connectedMs: number;
  readonly certificateUser: string | undefined;
  readonly subscriber: Subscriber;
  closeAfterReply(): void;
  kill(): void;
  push(reply: Reply): void;
  invalidate(delivery: Delivery): void;
  queued(): Queued;
  traffic(): Traffic;
  taken(): Promise<void>;
}

export function createSession(start: SessionStart): Session {
  return {
    // before the spread, or every session has a hidden class of its own (V8 of Node.js 20)
    protocol: 2 satisfies Protocol,
    ...start,
    // the client may keep its side open: who redirects to it is told at once that it has gone
    closeAfterReply: () => {
      start.subscriber.ended = true;
      start.closeAfterReply();
    },
    namespace: 'default' satisfies Namespace,
    user: '',
    clientName: '',
    libraryName: '',
    libraryVersion: '',
    readOnly: false,
    notified: false,
    replyMode: 'on',
    blocked: undefined,
    heldBack: false,
    syncs: 'unsaid',
    noEvict: false,
    noTouch: false,
    monitors: false,
    witnesses: undefined,
    tracking: undefined,
    lastCommand: '',
    lastCommandMs: start.connectedMs,
    commandsRun: 0,
  };
}

/** What a connection knows about its client; commands like HELLO and CLIENT read and change it. */
import type { Namespace } from '../../common/ids.ts';
import type { Door, Session } from '../commands/node-context.ts';
import type { Subscriber } from '../commands/pubsub-port.ts';
import type { Protocol } from '../resp/reply.ts';

export interface SessionStart {
  readonly id: number;
  readonly door: Door;
  readonly remote: string;
  readonly local: string;
  readonly connectedMs: number;
  readonly subscriber: Subscriber;
  closeAfterReply(): void;
  kill(): void;
}

export function createSession(start: SessionStart): Session {
  return {
    ...start,
    protocol: 2 satisfies Protocol,
    namespace: 'default' satisfies Namespace,
    clientName: '',
    libraryName: '',
    libraryVersion: '',
    readOnly: false,
    replyMode: 'on',
    noEvict: false,
    noTouch: false,
    lastCommand: '',
    lastCommandMs: start.connectedMs,
  };
}

/** Bodies of frames between datanodes, each behind a checksum that is right, and streams of frames. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import {
  decodeFate,
  decodeFateQuestion,
  encodeFate,
  encodeFateQuestion,
} from '../../../src/datanode/partition/entries/fate-codec.ts';
import {
  decodeStandingQuery,
  decodeStandings,
  encodeStandingQuery,
  encodeStandings,
} from '../../../src/datanode/partition/members/standing.ts';
import {
  decodeSleepersAnswer,
  decodeSleepersQuery,
  encodeSleepersAnswer,
  encodeSleepersQuery,
} from '../../../src/datanode/partition/sleeping/sleepers-query.ts';
import { decodePeerBody, encodePeerBody } from '../../../src/datanode/pubsub/peer-codec.ts';
import {
  decodeConfChange,
  encodeConfChange,
} from '../../../src/datanode/raft/conf-change-codec.ts';
import { OK } from '../../../src/datanode/resp/reply.ts';
import {
  decodeBatch,
  decodeResults,
  encodeBatch,
  encodeResults,
} from '../../../src/datanode/routing/request-codec.ts';
import {
  decodeWaitAnswer,
  decodeWaitMessage,
  encodeWaitAnswer,
  encodeWaitMessage,
} from '../../../src/datanode/routing/wait-codec.ts';
import {
  channels,
  FRAME_HEADER_BYTES,
  FrameDecoder,
  FrameWriter,
} from '../../../src/datanode/transport/frame.ts';
import {
  decodeGreeting,
  encodeHello,
  encodeWelcome,
  PROTOCOL_VERSION,
} from '../../../src/datanode/transport/handshake.ts';
import { decodeMessages } from '../../../src/datanode/transport/message-codec.ts';
import { chunksOf } from '../bytes.ts';
import { type Door, roomOfDoors } from '../engine/doors.ts';
import { hold, type Room } from '../engine/room.ts';
import { anyFrame, frameBytes, groupMessages, raftBody } from '../wire-messages.ts';

const drawn = { seed: 1, numRuns: 60 };

const sampled = <Value>(some: fc.Arbitrary<Value>) => fc.sample(some, drawn);

/** Decoding what was decoded, written again, gives the same. */
function same(found: unknown, again: unknown): void {
  hold(isDeepStrictEqual(again, found), () => 'written again it says something else');
}

const words = (...line: string[]) => line.map((word) => Buffer.from(word));
const self = { clusterId: 'cluster', node: 'x', incarnation: 'inc', bootId: 'boot' };

function bodyOfGreeting(write: (w: FrameWriter) => void): Buffer {
  const w = new FrameWriter();
  write(w);
  return w.take().subarray(FRAME_HEADER_BYTES);
}

const streams: Door = {
  name: 'stream',
  codes: ['BAD_FRAME'],
  seeds: sampled(fc.array(anyFrame, { minLength: 1, maxLength: 5 })).map((frames) =>
    frameBytes(...frames),
  ),
  open(bytes) {
    const found: string[] = [];
    const decoder = new FrameDecoder();
    for (const chunk of chunksOf(bytes, [0.3, 0.31, 0.8])) {
      decoder.push(chunk, (channel, body) => {
        found.push(frameBytes({ channel, body }).toString('latin1'));
      });
    }
    // only what was there, in its order
    hold(bytes.toString('latin1').startsWith(found.join('')), () => 'frames that nobody sent');
    return `of ${Math.min(found.length, 6)}`;
  },
};

const messages: Door = {
  name: 'raft',
  codes: ['BAD_FRAME'],
  seeds: sampled(groupMessages).map(raftBody),
  open(body) {
    const found = decodeMessages(body);
    same(found, decodeMessages(raftBody(found)));
    return found
      .map(({ message }) => message.type)
      .slice(0, 2)
      .join(' ');
  },
};

const place = { namespace: 'default', partition: 3 };
const lines = [words('SET', 'k', 'v'), words('GET', 'k')];
const plain = { ...place, lines, protocol: 2, term: undefined, deadlineMs: 0 } as const;

const batches: Door = {
  name: 'batch',
  codes: ['BAD_FRAME'],
  says: /^forwarded request: /,
  seeds: [
    encodeBatch({ ...plain, kind: 'write' }, 1_000),
    encodeBatch({ ...plain, kind: 'read', group: 7, term: 9, protocol: 3 }, 0),
    encodeBatch(
      { ...plain, kind: 'write', once: { id: Buffer.from('session'), sequence: 4, low: 2 } },
      5,
    ),
    encodeBatch({ ...plain, kind: 'read', witness: true }, 5),
    encodeBatch({ ...plain, kind: 'read', group: 7, term: 9, vouchedBy: 22 }, 5),
  ],
  open(body) {
    const found = decodeBatch(body, 0);
    hold(
      found.lines.every((line) => line.length > 0),
      () => 'a command without a name',
    );
    same(found, decodeBatch(encodeBatch(found, found.deadlineMs), 0));
    return `${found.kind} ${found.once !== undefined} ${Math.min(found.lines.length, 4)}`;
  },
};

const results: Door = {
  name: 'results',
  codes: ['BAD_FRAME'],
  says: /^forwarded answer: /,
  seeds: [
    encodeResults([{ ok: true, reply: OK }], 2),
    encodeResults([{ ok: true, reply: OK, witness: { term: 2, index: 9, upTo: 9, at: 0 } }], 2),
    encodeResults([{ ok: false, code: 'NOT_LEADER', message: 'no leader' }], 2),
  ],
  open: (body) => `of ${decodeResults(body, 1).length}`,
};

const greetings: Door = {
  name: 'greeting',
  codes: ['BAD_FRAME'],
  seeds: [
    bodyOfGreeting((w) =>
      encodeHello(w, {
        version: PROTOCOL_VERSION,
        self,
        expectedNode: 'b',
        expectedIncarnation: 'inc-b',
        kind: 'bulk',
        dial: 3,
      }),
    ),
    bodyOfGreeting((w) => encodeWelcome(w, self)),
  ],
  open: (body) => decodeGreeting(channels.control, body).kind,
};

const peers: Door = {
  name: 'pubsub',
  codes: ['BAD_FRAME'],
  seeds: [
    encodePeerBody({
      type: 'counts',
      anew: true,
      version: 7,
      counts: [
        { kind: 'channel', name: Buffer.from('news'), count: 2 },
        { kind: 'pattern', name: Buffer.from('n*'), count: 0 },
      ],
    }),
    encodePeerBody({
      type: 'message',
      kind: 'shard',
      channel: Buffer.from('news'),
      payload: Buffer.from('hello'),
    }),
    encodePeerBody({ type: 'seen', version: 300 }),
  ],
  open(body) {
    const found = decodePeerBody(body);
    same(found, decodePeerBody(encodePeerBody(found)));
    return found.type;
  },
};

const request = { id: Buffer.from('id'), line: words('BLPOP', 'k', '0'), protocol: 2 } as const;

const waits: Door = {
  name: 'wait',
  codes: ['BAD_FRAME'],
  says: /^waiting client: /,
  seeds: [
    encodeWaitMessage({ ...place, term: 4, kind: 'ask', request: { ...request, withdraw: false } }),
    encodeWaitMessage({
      ...{ ...place, group: 9, term: 4 },
      ...{ kind: 'ask', request: { ...request, withdraw: true } },
    }),
    encodeWaitMessage({ ...place, term: 4, kind: 'confirm', ids: words('a', 'b') }),
  ],
  open(body) {
    const found = decodeWaitMessage(body);
    same(found, decodeWaitMessage(encodeWaitMessage(found)));
    return found.kind;
  },
};

const waitAnswers: Door = {
  name: 'outcome',
  codes: ['BAD_FRAME'],
  says: /^answer to a waiting client: /,
  seeds: [
    encodeWaitAnswer(undefined, 2),
    encodeWaitAnswer({ kind: 'served', reply: { kind: 'simple', text: 'OK' } }, 3),
    encodeWaitAnswer({ kind: 'withdrawn' }, 2),
    encodeWaitAnswer({ kind: 'failed', code: 'NOT_LEADER', message: 'gone' }, 2),
  ],
  open: (body) => decodeWaitAnswer(body)?.kind ?? 'noted',
};

const fateQuestions: Door = {
  name: 'question about an entry',
  codes: ['BAD_FRAME'],
  says: /^question about an entry: /,
  seeds: [encodeFateQuestion({ ...place, group: 9, term: 4, index: 77 })],
  open(body) {
    const found = decodeFateQuestion(body);
    same(found, decodeFateQuestion(encodeFateQuestion(found)));
    return 'asked';
  },
};

const fates: Door = {
  name: 'answer about an entry',
  codes: ['BAD_FRAME'],
  says: /^answer about an entry: /,
  seeds: [
    encodeFate({ kind: 'open' }),
    encodeFate({ kind: 'never' }),
    encodeFate({ kind: 'done', replies: undefined }),
    encodeFate({
      kind: 'done',
      replies: [
        { kind: 'simple', text: 'OK' },
        { kind: 'map', pairs: [] },
      ],
    }),
    encodeFate({ kind: 'forgotten' }),
  ],
  open: (body) => decodeFate(body).kind,
};

const standingQueries: Door = {
  name: 'standing query',
  codes: ['BAD_FRAME'],
  seeds: [encodeStandingQuery([{ group: 3, replica: 4 }]), encodeStandingQuery([])],
  open(body) {
    const found = decodeStandingQuery(body);
    same(found, decodeStandingQuery(encodeStandingQuery(found)));
    return `of ${Math.min(found.length, 4)}`;
  },
};

const standings: Door = {
  name: 'standings',
  codes: ['BAD_FRAME'],
  seeds: [encodeStandings(['runs', 'given-up'])],
  open: (body) => decodeStandings(body, 2).join(' '),
};

const sleepersQueries: Door = {
  name: 'query about sleepers',
  codes: ['BAD_FRAME'],
  seeds: [encodeSleepersQuery([{ group: 3, term: 4 }]), encodeSleepersQuery([])],
  open(body) {
    const found = decodeSleepersQuery(body);
    same(found, decodeSleepersQuery(encodeSleepersQuery(found)));
    return `of ${Math.min(found.length, 4)}`;
  },
};

const sleepersAnswers: Door = {
  name: 'answer about sleepers',
  codes: ['BAD_FRAME'],
  seeds: [encodeSleepersAnswer([true, false])],
  open: (body) => decodeSleepersAnswer(body, 2).join(' '),
};

const changes: Door = {
  name: 'membership',
  codes: ['CORRUPT', 'TOO_NEW'],
  says: /membership change/,
  seeds: [
    Buffer.from(
      encodeConfChange({
        transition: 'auto',
        steps: [
          { kind: 'addVoter', replica: 3 },
          { kind: 'remove', replica: 2 ** 40 },
        ],
        context: Buffer.from('context'),
      }),
    ),
    Buffer.alloc(0),
  ],
  open(body) {
    const found = decodeConfChange(new Uint8Array(body));
    same(found, decodeConfChange(encodeConfChange(found)));
    return `of ${Math.min(found.steps.length, 4)}`;
  },
};

export const doors: readonly Door[] = [
  ...[streams, messages, batches, results, greetings, peers, waits, waitAnswers],
  ...[fateQuestions, fates, standingQueries, standings, sleepersQueries, sleepersAnswers, changes],
];

export async function openFrames(): Promise<Room> {
  return roomOfDoors('frames', 20, doors);
}

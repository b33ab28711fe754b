/**
 * The first frame of each side. The dialer says who it is and whom it expects; the other side
 * answers `welcome`, or `refusal` with a text for people and closes.
 */
import type { Incarnation, NodeId } from '../../common/ids.ts';
import { BodyReader, badFrame, channels, controlKinds, type FrameWriter } from './frame.ts';

/** 2: votes and their answers tell what is committed; 3: answers to heartbeats tell of promises. */
export const PROTOCOL_VERSION = 3;
/** Longest body of a frame before the handshake is done. */
export const HANDSHAKE_BYTES_MAX = 4_096;

export type LinkKind = 'small' | 'bulk';

export interface Self {
  readonly clusterId: string;
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  /** One per start of the process. */
  readonly bootId: string;
}

export interface Hello {
  readonly version: number;
  readonly self: Self;
  readonly expectedNode: NodeId;
  readonly expectedIncarnation: Incarnation;
  readonly kind: LinkKind;
  /** Grows with every dial of one boot: an older dial that arrives late never replaces a newer. */
  readonly dial: number;
}

export function encodeHello(w: FrameWriter, hello: Hello): void {
  w.begin(channels.control).u8(controlKinds.hello).varint(hello.version);
  encodeSelf(w, hello.self);
  w.text(hello.expectedNode).text(hello.expectedIncarnation);
  w.u8(hello.kind === 'small' ? 0 : 1).varint(hello.dial);
  w.end();
}

/** `reader` stands behind the kind byte. A later version may append fields; they are skipped. */
function decodeHello(reader: BodyReader): Hello {
  return {
    version: reader.varint(),
    self: decodeSelf(reader),
    expectedNode: reader.text(),
    expectedIncarnation: reader.text(),
    kind: reader.flag() ? 'bulk' : 'small',
    dial: reader.varint(),
  };
}

export function encodeWelcome(w: FrameWriter, self: Self): void {
  w.begin(channels.control).u8(controlKinds.welcome);
  encodeSelf(w, self);
  w.end();
}

export function encodeRefusal(w: FrameWriter, text: string): void {
  w.begin(channels.control).u8(controlKinds.refusal).text(text.substring(0, 1_000));
  w.end();
}

export type Greeting =
  | { readonly kind: 'hello'; readonly hello: Hello }
  | { readonly kind: 'welcome'; readonly self: Self }
  | { readonly kind: 'refusal'; readonly text: string };

/** A control frame of the handshake; throws KvorumError BAD_FRAME for any other. */
export function decodeGreeting(channel: number, body: Buffer): Greeting {
  if (channel !== channels.control) throw badFrame(`channel ${channel} before the handshake`);
  const reader = new BodyReader(body);
  const kind = reader.u8();
  switch (kind) {
    case controlKinds.hello:
      return { kind: 'hello', hello: decodeHello(reader) };
    case controlKinds.welcome:
      return { kind: 'welcome', self: decodeSelf(reader) };
    case controlKinds.refusal:
      return { kind: 'refusal', text: reader.text() };
    default:
      throw badFrame(`control frame ${kind} before the handshake`);
  }
}

/** Why `hello` must not be let in by `self`; undefined when it may. */
export function refusalOf(
  hello: Hello,
  self: Self,
  known: Incarnation | undefined,
): string | undefined {
  if (hello.version !== PROTOCOL_VERSION) {
    return `protocol version ${hello.version}, ${self.node} speaks ${PROTOCOL_VERSION}`;
  }
  if (hello.self.clusterId !== self.clusterId) {
    return `${self.node} belongs to cluster ${self.clusterId}, not ${hello.self.clusterId}`;
  }
  if (hello.expectedNode !== self.node) {
    return `this is ${self.node}, not ${hello.expectedNode}: check the advertised address`;
  }
  if (hello.expectedIncarnation !== self.incarnation) {
    return `${self.node} is incarnation ${self.incarnation}, not ${hello.expectedIncarnation}`;
  }
  if (known === undefined) return `${self.node} does not know a node ${hello.self.node} yet`;
  if (known !== hello.self.incarnation) {
    return `${self.node} knows ${hello.self.node} as incarnation ${known}, not ${hello.self.incarnation}`;
  }
  return undefined;
}

function encodeSelf(w: FrameWriter, self: Self): void {
  w.text(self.clusterId).text(self.node).text(self.incarnation).text(self.bootId);
}

function decodeSelf(reader: BodyReader): Self {
  return {
    clusterId: reader.text(),
    node: reader.text(),
    incarnation: reader.text(),
    bootId: reader.text(),
  };
}

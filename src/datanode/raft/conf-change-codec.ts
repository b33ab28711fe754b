/**
 * Bytes of a ConfChange in the log: the data of confChange and confChangeV2 entries. A format of
 * record: fields are only ever added under a new version. No bytes at all mean "leave the joint
 * configuration".
 *
 * version u8 = 1 · transition u8 · step count u16 BE · per step: kind u8, replica id f64-safe u64
 * BE · context: the rest.
 */
import { assert } from '../../common/assert.ts';
import { KvorumError } from '../../common/errors.ts';
import type { ConfChange, ConfChangeStep } from './message.ts';

const VERSION = 1;
const HEADER_BYTES = 4;
const STEP_BYTES = 9;
const STEPS_MAX = 0xffff;
const U32 = 2 ** 32;

const TRANSITIONS = ['auto', 'implicit', 'explicit'] as const;
const KINDS = ['addVoter', 'addLearner', 'remove', 'update'] as const;

export const LEAVE_JOINT: ConfChange = {
  transition: 'auto',
  steps: [],
  context: new Uint8Array(0),
};

/** Encodes `change`. Throws when it has too many steps or an unsafe replica id. */
export function encodeConfChange(change: ConfChange): Uint8Array {
  const { transition, steps, context } = change;
  if (transition === 'auto' && steps.length === 0 && context.length === 0) {
    return new Uint8Array(0);
  }
  assert(steps.length <= STEPS_MAX, 'a membership change has at most 65,535 steps');
  const bytes = new Uint8Array(HEADER_BYTES + steps.length * STEP_BYTES + context.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, VERSION);
  view.setUint8(1, TRANSITIONS.indexOf(transition));
  view.setUint16(2, steps.length);
  let at = HEADER_BYTES;
  for (const step of steps) {
    assert(
      Number.isSafeInteger(step.replica) && step.replica >= 0,
      'replica ids are safe integers',
    );
    view.setUint8(at, KINDS.indexOf(step.kind));
    view.setUint32(at + 1, Math.floor(step.replica / U32));
    view.setUint32(at + 5, step.replica % U32);
    at += STEP_BYTES;
  }
  bytes.set(context, at);
  return bytes;
}

/** Decodes what encodeConfChange made. Throws TOO_NEW for a newer version, CORRUPT for anything else. */
export function decodeConfChange(bytes: Uint8Array): ConfChange {
  if (bytes.length === 0) return LEAVE_JOINT;
  if (bytes.length < HEADER_BYTES) throw corrupt('cut short');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint8(0);
  if (version > VERSION) {
    const text = `a membership change in the raft log has version ${version}`;
    throw new KvorumError('TOO_NEW', `${text}; upgrade kvorum on this node`);
  }
  if (version !== VERSION) throw corrupt(`has version ${version}`);
  const transition = TRANSITIONS[view.getUint8(1)];
  if (transition === undefined) throw corrupt('has an unknown transition');
  const count = view.getUint16(2);
  if (bytes.length < HEADER_BYTES + count * STEP_BYTES) throw corrupt('cut short');
  const steps: ConfChangeStep[] = [];
  for (let i = 0; i < count; i++) {
    const at = HEADER_BYTES + i * STEP_BYTES;
    const kind = KINDS[view.getUint8(at)];
    const replica = view.getUint32(at + 1) * U32 + view.getUint32(at + 5);
    if (kind === undefined || !Number.isSafeInteger(replica)) throw corrupt('has a bad step');
    steps.push({ kind, replica });
  }
  return { transition, steps, context: bytes.slice(HEADER_BYTES + count * STEP_BYTES) };
}

function corrupt(what: string): KvorumError {
  return new KvorumError('CORRUPT', `a membership change in the raft log ${what}`);
}

/** Strings compared with what a client has of them: IFEQ and its relatives of SET, DELEX, DIGEST. */

import { findKey } from '../../encoding/keyspace/keyspace.ts';
import { digestOf } from '../../encoding/strings/digest.ts';
import { readString } from '../../encoding/strings/string.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { bulk, error, integer, NULL, type Reply } from '../../resp/reply.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import { argument, WRONG_TYPE, word, wrongArity } from '../rows/args.ts';
import { type Command, FIRST_KEY, type RunContext, read, write } from '../rows/command.ts';
import { type ComparisonKind, isComparison } from '../rows/comparison-words.ts';
import { deleteKey } from '../rows/key-events.ts';

export interface Comparison {
  readonly kind: ComparisonKind;
  /** The value, or its digest. */
  readonly operand: Buffer;
}

const LETTER_I = 0x69;
const LOWER_CASE = 0x20;
const DIGEST_DIGITS = 16;
const NO_DIGEST = error('ERR must be exactly 16 hexadecimal characters');

/** Where SET has its options. */
const SET_OPTIONS_AT = 3;

/** Whether a SET may ask for a comparison: by what none of its other options begins with. */
export function setAppliesFrom(line: readonly Buffer[]): number {
  for (let at = SET_OPTIONS_AT; at < line.length; at++) {
    const arg = line[at]!;
    if ((arg[0]! | LOWER_CASE) === LETTER_I && isComparison(word(arg))) {
      return applyVersions.comparisons;
    }
  }
  return applyVersions.plain;
}

/**
 * Whether the string that is stored meets it; undefined: there is none, which differs from whatever was
 * given. An error for what can be no digest.
 */
export function meets({ kind, operand }: Comparison, stored: Buffer | undefined): boolean | Reply {
  const wantsEqual = kind === 'ifeq' || kind === 'ifdeq';
  if (stored === undefined) return !wantsEqual;
  if (kind === 'ifeq' || kind === 'ifne') return stored.equals(operand) === wantsEqual;
  if (operand.length !== DIGEST_DIGITS) return NO_DIGEST;
  return (digestOf(stored) === operand.toString('latin1').toLowerCase()) === wantsEqual;
}

interface Deletion {
  readonly key: Buffer;
  /** Undefined: none was asked for. */
  readonly condition: Comparison | 'invalid' | undefined;
}

const NO = integer(0);
const NO_STRING = error('ERR Key should be of string type if conditions are specified');
const INVALID = error('ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE');

/** DELEX key [IFEQ value | IFNE value | IFDEQ digest | IFDNE digest] */
function parseDeletion(args: readonly Buffer[]): Deletion {
  const key = argument(args, 1);
  if (args.length === 2) return { key, condition: undefined };
  if (args.length !== 4) throw wrongArity('delex');
  const kind = word(argument(args, 2));
  const operand = argument(args, 3);
  return { key, condition: isComparison(kind) ? { kind, operand } : 'invalid' };
}

/** What is wrong with a condition is told of a string alone: Redis's order. */
function runDeletion(view: WriteView, { key, condition }: Deletion, { nowMs }: RunContext): Reply {
  const found = findKey(view, key, nowMs);
  const { live } = found;
  if (live === undefined) return NO;
  if (condition !== undefined) {
    if (live.type !== 'string') return NO_STRING;
    if (condition === 'invalid') return INVALID;
    const isMet = meets(condition, live.body);
    if (typeof isMet !== 'boolean') return isMet;
    if (!isMet) return NO;
  }
  return integer(deleteKey(view, found) ? 1 : 0);
}

/** DIGEST key */
function runDigest(view: View, key: Buffer, { nowMs }: RunContext): Reply {
  const found = readString(view, key, nowMs);
  if (found === 'wrong-type') return WRONG_TYPE;
  return found === undefined ? NULL : bulk(digestOf(found));
}

const column = {
  categories: ['string'],
  group: 'string',
  keys: FIRST_KEY,
  since: '8.4.0',
  appliesFrom: () => applyVersions.comparisons,
};

export const compareCommands: readonly Command[] = [
  write({
    ...column,
    name: 'delex',
    arity: -2,
    flags: ['write', 'fast'],
    summary: 'Deletes a key, on condition of what its value is.',
    parse: parseDeletion,
    run: runDeletion,
  }),
  read({
    ...column,
    name: 'digest',
    arity: 2,
    flags: ['readonly', 'fast'],
    summary: 'Returns the XXH3 digest of a string.',
    singlePoint: true,
    parse: (args) => argument(args, 1),
    run: runDigest,
  }),
];

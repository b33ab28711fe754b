/** What may be asked of a namespace. Pure. */
import { KvorumError } from '../common/errors.ts';
import { limits } from '../common/limits.ts';
import type { NamespaceChange, NamespaceSpec } from './operator/operator.ts';

const HASHES: readonly string[] = ['slots', 'murmur3'];
const READS: readonly string[] = ['linearizable', 'lease'];
/** ZanRedisDB's names; `default` and `db<n>`, which SELECT means by a number, are such. */
const NAME = /^\w+$/;
/** `name` or `name=value`; commas and white space part tags in lists. */
const TAG = /^[^\s,=]+(?:=[^\s,]*)?$/;

/** Throws BAD_ARGUMENT, which names the field. */
export function checkSpec({ name, partitions, hash, ...options }: NamespaceSpec): void {
  if (name.length > limits.namespaceNameMax || !NAME.test(name)) {
    throw bad('name', `1 to ${limits.namespaceNameMax} letters, digits and underscores`, name);
  }
  checkCount('partitions', partitions, limits.namespacePartitionsMax);
  if (!HASHES.includes(hash)) throw bad('hash', HASHES.join(' or '), hash);
  checkOptions(options);
}

/** What can be changed later. Throws BAD_ARGUMENT, which names the field. */
export function checkOptions({ replicas, tags, reads }: NamespaceChange): void {
  if (replicas !== undefined) checkCount('replicas', replicas, limits.namespaceReplicasMax);
  if (tags !== undefined) checkTags(tags);
  if (reads !== undefined && !READS.includes(reads)) throw bad('reads', READS.join(' or '), reads);
}

function checkTags(tags: readonly string[]): void {
  if (tags.length > limits.namespaceTagsMax) {
    throw bad('tags', `at most ${limits.namespaceTagsMax} of them`, `${tags.length}`);
  }
  for (const tag of tags) {
    if (tag.length <= limits.namespaceTagMax && TAG.test(tag)) continue;
    const form = `name or name=value, up to ${limits.namespaceTagMax} characters without commas`;
    throw bad('tags', form, tag);
  }
}

function checkCount(field: string, value: number, highest: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= highest) return;
  throw bad(field, `a whole number from 1 to ${highest}`, String(value));
}

const SHOWN_MAX = 64;

function bad(field: string, wanted: string, given: string): KvorumError {
  const shown = JSON.stringify(given.slice(0, SHOWN_MAX));
  return new KvorumError('BAD_ARGUMENT', `${field}: must be ${wanted}, not ${shown}`);
}

/** `kvorum namespaces …` and `kvorum partitions`. */
import { KvorumError } from '../../common/errors.ts';
import { Api, type ApiFlags } from './api.ts';
import { say, sayJson, tableLines, tell } from './print.ts';
import type { NamespaceAnswer, PartitionAnswer } from './shapes.ts';

export async function listNamespaces(flags: ApiFlags): Promise<void> {
  const answer = await new Api(flags).get<{ namespaces: NamespaceAnswer[] }>('/v1/namespaces');
  if (flags.json) return sayJson(answer);
  const head = ['namespace', 'state', 'partitions', 'led', 'settled', 'replicas', 'hash', 'reads'];
  const rows = answer.namespaces.map((one) => [
    ...[one.name, one.state, one.partitions, one.led, one.settled, one.replicas],
    ...[one.hash, one.reads, one.tags.join(',') || undefined],
  ]);
  for (const line of tableLines([...head, 'tags'], rows)) say(line);
}

export interface NamespaceFlags extends ApiFlags {
  readonly partitions?: number;
  readonly replicas?: number;
  readonly hash?: string;
  readonly reads?: string;
  readonly tag?: readonly string[];
}

export async function createNamespace(name: string, flags: NamespaceFlags): Promise<void> {
  const { partitions, replicas, hash, reads, tag } = flags;
  const body = definedOf({ name, partitions, replicas, hash, reads, tags: tag });
  await new Api(flags).write('POST', '/v1/namespaces', body);
  const text = `namespace ${name} is there; SELECT ${name} on any connection`;
  tell(flags, text, { ...body, state: 'ready' });
}

export async function updateNamespace(name: string, flags: NamespaceFlags): Promise<void> {
  const { replicas, reads, tag } = flags;
  const body = definedOf({ replicas, reads, tags: tag });
  if (Object.keys(body).length === 0) {
    throw new KvorumError('BAD_ARGUMENT', 'nothing to change: give --replicas, --tag or --reads');
  }
  await new Api(flags).write('PATCH', `/v1/namespaces/${encodeURIComponent(name)}`, body);
  const text = `namespace ${name} is changed; kvorum partitions ${name} shows how far its nodes are with that`;
  tell(flags, text, { name, ...body, state: 'ready' });
}

/** `--yes` stands in for the question that a script cannot answer. */
export async function deleteNamespace(
  name: string,
  flags: ApiFlags & { readonly yes?: boolean },
): Promise<void> {
  if (!flags.yes) {
    throw new KvorumError(
      'BAD_ARGUMENT',
      `this destroys all data of ${name} on every node; say --yes to mean it`,
    );
  }
  await new Api(flags).write('DELETE', `/v1/namespaces/${encodeURIComponent(name)}`);
  const text = `namespace ${name} is gone; its data is destroyed on every node as it is reached`;
  tell(flags, text, { name, state: 'deleting' });
}

export async function listPartitions(name: string, flags: ApiFlags): Promise<void> {
  const path = `/v1/namespaces/${encodeURIComponent(name)}/partitions`;
  const answer = await new Api(flags).get<{ partitions: PartitionAnswer[] }>(path);
  if (flags.json) return sayJson(answer);
  const rows = answer.partitions.map((one) => [
    `${one.namespace}/${one.partition}`,
    one.leader?.node,
    one.leader?.term,
    one.wanted.map(({ node, replica }) => `${node}#${replica}`).join(' '),
    partitionState(one),
  ]);
  for (const line of tableLines(['partition', 'leader', 'term', 'replicas', 'state'], rows)) {
    say(line);
  }
}

/** With the nodes whose replicas stopped after a fault: one that is led may have few left. */
export function partitionState(one: PartitionAnswer): string {
  const { stopped = [] } = one;
  if (stopped.length === 0) return stateOf(one);
  return `${stateOf(one)}, stopped on ${stopped.map(({ node }) => node).join(' ')}`;
}

function stateOf({ leader, actual, settled }: PartitionAnswer): string {
  if (settled) return 'settled';
  if (leader === null || actual === null) return 'no leader';
  if (actual.joint) return 'members change';
  return actual.learners.length > 0 ? 'a replica is filled' : 'waits to change';
}

function definedOf(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

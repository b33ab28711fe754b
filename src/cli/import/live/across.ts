/**
 * Commands over keys of several partitions. Nothing else is under way meanwhile: the keys of other
 * partitions are brought to that of the first under names of their own, the command runs there, and
 * what it has changed is put back. Each step may be repeated.
 */
import type { Client } from '../../../sdk/client.ts';
import type { Line } from './command-plan.ts';

const NAME = 'kvorum-import';
/** For a name in a given partition; there are 1,024 at most. */
const TRIES_MAX = 1_000_000;

interface Visitor {
  readonly key: Buffer;
  readonly name: Buffer;
  readonly before: State;
}

interface State {
  readonly value: Buffer | null;
  readonly deadlineMs: number;
}

/** `keys`: where they stand in the line. */
export async function runAcross(
  client: Client,
  line: Line,
  keys: readonly number[],
): Promise<void> {
  const home = client.partitionOf(line[keys[0]!]!);
  const visitors = new Map<string, Visitor>();
  const changed = [...line];
  for (const at of keys) {
    const key = line[at]!;
    if (client.partitionOf(key) === home) continue;
    const text = key.toString('latin1');
    let visitor = visitors.get(text);
    if (visitor === undefined) {
      const name = nameIn(client, home, visitors.size);
      visitor = { key, name, before: await stateOf(client, key) };
      visitors.set(text, visitor);
      await putState(client, name, visitor.before);
    }
    changed[at] = visitor.name;
  }
  const [name, ...args] = changed;
  await client.callBuffer(name!.toString('latin1'), ...args);
  for (const { key, name: visiting, before } of visitors.values()) {
    const after = await stateOf(client, visiting);
    if (!isSame(before, after)) await putState(client, key, after);
    await client.del(visiting);
  }
}

/** MOVE and COPY from one namespace into another. */
export async function copyBetween(
  from: { readonly client: Client; readonly key: Buffer },
  to: { readonly client: Client; readonly key: Buffer },
  isCopy: boolean,
): Promise<void> {
  const state = await stateOf(from.client, from.key);
  if (state.value === null) return;
  await putState(to.client, to.key, state);
  if (!isCopy) await from.client.del(from.key);
}

async function stateOf(client: Client, key: Buffer): Promise<State> {
  const [value, deadlineMs] = await Promise.all([
    client.callBuffer('DUMP', key),
    client.call('PEXPIRETIME', key),
  ]);
  return { value: value as Buffer | null, deadlineMs: Math.max(0, Number(deadlineMs)) };
}

async function putState(client: Client, key: Buffer, { value, deadlineMs }: State): Promise<void> {
  if (value === null) await client.del(key);
  else await client.call('RESTORE', key, deadlineMs, value, 'REPLACE', 'ABSTTL');
}

function isSame(a: State, b: State): boolean {
  if (a.value === null || b.value === null) return a.value === b.value;
  return a.deadlineMs === b.deadlineMs && a.value.equals(b.value);
}

function nameIn(client: Client, partition: number | undefined, number: number): Buffer {
  for (let tried = 0; tried < TRIES_MAX; tried++) {
    const name = Buffer.from(`${NAME}:${number}:${tried}`);
    if (client.partitionOf(name) === partition) return name;
  }
  throw new Error(`no name was found for a key of partition ${partition}`);
}

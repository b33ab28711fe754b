/** XREAD over several partitions: how its keys and IDs are dealt out, and the rows of its parts joined. */
import type { PartitionId } from '../../common/ids.ts';
import type { Halves } from '../commands/rows/command.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { NULL_ARRAY, type Reply } from '../resp/reply.ts';
import type { Part, PartAnswer } from './fan-out.ts';

/** Deals out keys that all stand before what goes with them. */
export function splitHalves(
  args: CommandLine,
  { at, count }: Halves,
  partitionOf: (key: Buffer) => PartitionId,
): Part[] {
  const dealt = new Map<PartitionId, number[]>();
  for (let key = 0; key < count; key++) {
    const partition = partitionOf(args[at + key]!);
    const mine = dealt.get(partition);
    if (mine === undefined) dealt.set(partition, [key]);
    else mine.push(key);
  }
  const before = args.slice(0, at);
  return [...dealt].map(([partition, keyAt]) => {
    const keys = keyAt.map((key) => args[at + key]!);
    const others = keyAt.map((key) => args[at + count + key]!);
    return { partition, line: [...before, ...keys, ...others], keyAt };
  });
}

type Pair = readonly [key: Reply, value: Reply];

/** In the request's order; a part says nothing of a key that has nothing. */
export function rowsInKeyOrder(answers: readonly PartAnswer[]): Reply {
  const rows: { readonly at: number; readonly pair: Pair }[] = [];
  for (const { part, reply } of answers) {
    const { keyAt, line } = part;
    const first = line.length - 2 * keyAt.length;
    let key = 0;
    for (const pair of pairsOf(reply)) {
      while (key < keyAt.length && !isNamed(pair, line[first + key]!)) key++;
      rows.push({ at: keyAt[key++] ?? Number.POSITIVE_INFINITY, pair });
    }
  }
  if (rows.length === 0) return NULL_ARRAY;
  rows.sort((one, other) => one.at - other.at);
  return { kind: 'rows', pairs: rows.map(({ pair }) => pair) };
}

function isNamed([name]: Pair, key: Buffer): boolean {
  return name.kind === 'bulk' && name.bytes.equals(key);
}

function pairsOf(reply: Reply): readonly Pair[] {
  return reply.kind === 'rows' ? reply.pairs : [];
}

/**
 * Queues: every element is pushed once. It is taken at most once, by whoever; and when its push was
 * acknowledged it was taken, or is still there, or was taken by somebody who never heard of it.
 */
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { textOf } from '../call.ts';
import { queueKeys, queueSet, type Sent } from '../typed.ts';
import { Violation } from './checker.ts';

/** `left`: what each queue holds in the end. Throws Violation. */
export function checkElements(sent: readonly Sent[], left: ReadonlyMap<string, Reply>): void {
  const holders = new Map<string, string>();
  const hold = (element: string, holder: string) => {
    const other = holders.get(element);
    holders.set(element, holder);
    if (other === undefined) return;
    throw new Violation('elements', `${element} was given twice: ${other}, and ${holder}`);
  };
  const pushed = new Set<string>();
  let lostMost = 0;
  for (const call of sent) {
    const lines = call.lines.filter(isOfQueue).map((line) => line.map(String));
    const [words] = lines;
    if (words === undefined || call.refused || words[0] === 'LRANGE') continue;
    if (isPush(words)) {
      // one alone, or a transaction of nothing else
      if (call.reply?.kind === 'integer' || call.reply?.kind === 'array') {
        for (const element of lines.flatMap(elementsOf)) pushed.add(element);
      }
    } else if (call.reply === undefined) {
      lostMost += takenMost(words);
    } else {
      for (const element of takenBy(words, call.reply)) {
        hold(element, `to client${call.client} at ${call.returnedMs.toFixed(1)}`);
      }
    }
  }
  for (const [key, reply] of left) {
    for (const element of bulks(reply)) hold(element, `to ${key}, where it is in the end`);
  }
  const lost = [...pushed].filter((element) => !holders.has(element));
  if (lost.length <= lostMost) return;
  const text = `${lost.length} elements are gone (${lost.slice(0, 10)})`;
  throw new Violation('elements', `${text}, takers without an answer took ${lostMost} at most`);
}

const queueKeySet = new Set([...queueKeys, queueSet]);

function isOfQueue(line: readonly Buffer[]): boolean {
  return line.some((word) => queueKeySet.has(word.toString()));
}

function isPush([name]: readonly string[]): boolean {
  return name === 'LPUSH' || name === 'RPUSH' || name === 'ZADD';
}

/** Of a push; those of a sorted set have their scores before them. */
function elementsOf([name, , ...rest]: readonly string[]): readonly string[] {
  return name === 'ZADD' ? rest.filter((_, at) => at % 2 === 1) : rest;
}

/** How many elements leave the queues for good by a call of which nobody knows what it did. */
function takenMost(words: readonly string[]): number {
  const [name] = words;
  if (isMove(name!)) return 0;
  const count = name!.endsWith('MPOP') ? words.at(-1) : words[2];
  return name!.startsWith('B') && !name!.endsWith('MPOP') ? 1 : Number(count ?? 1);
}

/** The elements a reply hands out; an element that moved to another queue is still in one. */
function takenBy([name]: readonly string[], reply: Reply): readonly string[] {
  if (isMove(name!)) return [];
  if (reply.kind === 'error') throw new Violation('elements', `${name} of a queue: ${reply.text}`);
  if (name === 'LPOP' || name === 'RPOP') return bulks(reply);
  if (reply.kind !== 'array') return [];
  if (name === 'ZPOPMIN') return bulks(reply).slice(0, 1);
  // key first, then what was taken from it: of a sorted set with its score behind it
  const taken = bulks(reply.items[1]!);
  return name === 'BZMPOP' ? taken.filter((_, at) => at % 2 === 0) : taken;
}

function isMove(name: string): boolean {
  return name.endsWith('LMOVE') || name.endsWith('RPOPLPUSH');
}

function bulks(reply: Reply): string[] {
  if (reply.kind === 'array') return reply.items.flatMap(bulks);
  return reply.kind === 'bulk' ? [textOf(reply)] : [];
}

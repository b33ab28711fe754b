/**
 * The table from datanodes alone, when no placedriver is named: CLUSTER SLOTS of a cluster port.
 * It tells slots and leaders, no groups: neighbouring partitions of one leader are one range. Slots
 * may be nobody's for the moment: whoever is asked then says so, or names who leads by now. A
 * gateway port, or a namespace without slots, says so: then any of the named nodes takes any command
 * and passes it on. Any other error tells nothing of the port: at cluster ports FLUSHALL is one node's.
 */
import { SLOT_COUNT } from '../common/hash.ts';
import type { Address } from '../common/network.ts';
import type { Argument, Outcome, Reply } from './connection.ts';
import { ownError } from './errors.ts';
import type { TableContent, TableNode, TableSource } from './table.ts';

const NO_SLOTS = /cluster support disabled|this namespace has no slots/;

/** Sends one line to a datanode; resolves whatever comes of it. */
export type Ask = (address: Address, line: readonly Argument[]) => Promise<Outcome>;

export class DatanodeSource implements TableSource {
  readonly #seeds: readonly Address[];
  readonly #ask: Ask;
  /** Who answered last is asked first; then who was named in its answer. */
  #known: readonly Address[] = [];
  #last = '';

  constructor(seeds: readonly Address[], ask: Ask) {
    this.#seeds = seeds;
    this.#ask = ask;
  }

  async fetch(epoch: number | undefined, signal: AbortSignal): Promise<TableContent | undefined> {
    const reasons: string[] = [];
    for (const address of this.#candidates()) {
      if (signal.aborted) break;
      const outcome = await this.#ask(address, ['CLUSTER', 'SLOTS']);
      if (outcome.kind === 'unsent' || outcome.kind === 'lost') {
        reasons.push(`${address.host}:${address.port}: ${outcome.cause.message}`);
        continue;
      }
      if (outcome.kind === 'error' && !NO_SLOTS.test(outcome.text)) {
        reasons.push(`${address.host}:${address.port}: ${outcome.text}${remedyOf(outcome.text)}`);
        continue;
      }
      const content = outcome.kind === 'reply' ? tableOf(outcome.reply, this.#seeds) : undefined;
      const found = content ?? anyNode(this.#seeds);
      const text = JSON.stringify(found);
      this.#known = [address, ...(content?.nodes ?? [])];
      if (text === this.#last && epoch !== undefined) return undefined;
      this.#last = text;
      return found;
    }
    throw ownError('UNAVAILABLE', `no datanode tells the partitions: ${reasons.join('; ')}`);
  }

  /** Each once. */
  #candidates(): readonly Address[] {
    const all = [...this.#known, ...this.#seeds];
    return [...new Map(all.map((address) => [keyOf(address), address])).values()];
  }
}

function remedyOf(text: string): string {
  if (!text.startsWith('NOPERM')) return '';
  return ' (the client asks CLUSTER SLOTS: give its user the right +cluster|slots)';
}

function keyOf({ host, port }: Address): string {
  return `${host}:${port}`;
}

function anyNode(seeds: readonly Address[]): TableContent {
  const nodes = seeds.map(({ host, port }) => nodeAt(host, port));
  return { epoch: 0, hash: 'slots', nodes, partitions: [], groups: false };
}

/** Undefined when the node tells no slots: then nodes pass commands on. */
function tableOf(reply: Reply, seeds: readonly Address[]): TableContent | undefined {
  if (!Array.isArray(reply)) return undefined;
  const nodes = new Map<string, TableNode>();
  const ranges: Range[] = reply.map((entry: readonly Reply[]) => {
    const [first, last, owner] = entry;
    const [host, port] = Array.isArray(owner) ? owner : [];
    const node = nodeAt(String(host), Number(port));
    nodes.set(node.name, node);
    return { firstSlot: Number(first), lastSlot: Number(last), leader: node.name };
  });
  const whole = withGaps(ranges);
  // whom to ask about slots of nobody
  if (whole.length > ranges.length) {
    for (const { host, port } of seeds) nodes.set(`${host}:${port}`, nodeAt(host, port));
  }
  return {
    epoch: 0,
    hash: 'slots',
    nodes: [...nodes.values()],
    partitions: whole.map(({ leader, ...slots }, partition) => {
      return {
        ...slots,
        partition,
        leader,
        term: 0,
        replicas: leader === undefined ? [] : [leader],
      };
    }),
    groups: false,
  };
}

interface Range {
  readonly firstSlot: number;
  readonly lastSlot: number;
  readonly leader: string | undefined;
}

/** All slots in order: those of which nobody was told to lead are ranges without a leader. */
function withGaps(ranges: readonly Range[]): readonly Range[] {
  const whole: Range[] = [];
  let next = 0;
  for (const range of [...ranges].sort((a, b) => a.firstSlot - b.firstSlot)) {
    const { firstSlot, lastSlot } = range;
    if (firstSlot > next)
      whole.push({ firstSlot: next, lastSlot: firstSlot - 1, leader: undefined });
    whole.push(range);
    next = lastSlot + 1;
  }
  const lastSlot = SLOT_COUNT - 1;
  if (next <= lastSlot) whole.push({ firstSlot: next, lastSlot, leader: undefined });
  return whole;
}

function nodeAt(host: string, port: number): TableNode {
  return { name: `${host}:${port}`, host, port, followerPort: undefined, dc: undefined };
}

/**
 * Commands of ZanRedisDB's clients on this node's partitions: with keys, of one partition or of
 * several that are led here; and scans over the keys of a table.
 */
import type { PartitionId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { Session } from '../commands/rows/node-context.ts';
import { decodeReply } from '../resp/decode-reply.ts';
import { encodeReply } from '../resp/encode-reply.ts';
import { array, bulk, error, type Reply } from '../resp/reply.ts';
import { replyBytes } from '../resp/reply-bytes.ts';
import type { ConnectionWorld } from '../server/connection-world.ts';
import {
  mergeReplies,
  type Part,
  type PartAnswer,
  saysInPart,
  splitByKeys,
} from '../server/fan-out.ts';
import type { Fate } from '../server/lane.ts';
import type { LaneSet } from '../server/lane-set.ts';
import { badShape } from '../server/request-shape.ts';
import { decodeCursor, encodeCursor, type PartitionPlace } from './cursor.ts';
import { type Asked, PartitionRequest, type Sent } from './partition-request.ts';
import { placeOf, whyNotHere, whyNotNamespace } from './place.ts';
import { asZanSays, INVALID_ARGUMENTS, INVALID_CURSOR, NO_LEADER, refusal } from './refusals.ts';
import type { KeyedRequest, ScanRequest } from './request.ts';

export interface ZanGround {
  readonly world: ConnectionWorld;
  readonly session: Session;
  readonly lanes: LaneSet;
  /** A request has its answer. */
  settle(sent: Sent, reply: Reply): void;
}

const NOTHING = Buffer.alloc(0);

export function runKeyed(ground: ZanGround, request: KeyedRequest, sent: Sent): void {
  const { command, line, namespace } = request;
  const wrong = refusalOf(ground, request, line, sent);
  if (wrong !== undefined) return turnAway(ground, request, sent, wrong);
  const prepared = command.prepare(line);
  if (!prepared.ok) return answer(ground, request, sent, prepared.reply, 'done');
  const { routes } = ground.world.router;
  const partitionOf = (key: Buffer) => routes.partitionOfKey(namespace, key)!;
  const parts = splitByKeys(line, command.keys, partitionOf);
  const [first] = parts;
  ground.world.watch.begins(ground.session, command, line);
  if (parts.length === 1) {
    const settle = (reply: Reply, fate: Fate) => answer(ground, request, sent, reply, fate);
    return ask(ground, request, first!.partition, { sent, command, line, anywhere: false, settle });
  }
  if (command.fanOut?.over !== 'keys') {
    return turnAway(ground, request, sent, refusal(INVALID_ARGUMENTS, sent.args));
  }
  const away = parts.map(({ partition }) => awayFrom(ground, request, partition)).find(Boolean);
  if (away !== undefined) return turnAway(ground, request, sent, refusal(away, sent.args));
  askParts(ground, request, sent, parts);
}

function awayFrom(
  { world }: ZanGround,
  { namespace }: KeyedRequest,
  partition: PartitionId,
): string | undefined {
  const place = placeOf(world.router, namespace, partition);
  return whyNotHere(world.router, world.node, place, false);
}

/**
 * All at once; what is answered when not all succeed is said where gateways merge. A write of which a
 * part was done ends so that its client does not send it again: the outcome of the whole is unknown.
 */
function askParts(
  ground: ZanGround,
  request: KeyedRequest,
  sent: Sent,
  parts: readonly Part[],
): void {
  const { command } = request;
  const answers: PartAnswer[] = [];
  for (const part of parts) {
    const settle = (reply: Reply, fate: Fate) => {
      answers.push({ part, reply, fate });
      if (answers.length < parts.length) return;
      const merged = mergeReplies(command, answers, () => 0);
      answer(ground, request, sent, merged, fateOf(merged, answers));
    };
    const { line, partition } = part;
    ask(ground, request, partition, { sent, command, line, anywhere: false, settle });
  }
}

/** Of the whole, when `merged` is what its parts' answers came to. */
function fateOf(merged: Reply, answers: readonly PartAnswer[]): Fate {
  if (saysInPart(merged)) return 'unknown';
  const isAway = merged.kind === 'error' && answers.some(({ fate }) => fate === 'not-proposed');
  return isAway ? 'not-proposed' : 'done';
}

function ask(
  { world, lanes }: ZanGround,
  { namespace }: KeyedRequest | ScanRequest,
  partition: PartitionId,
  asked: Asked,
): void {
  lanes.push(placeOf(world.router, namespace, partition), new PartitionRequest(asked));
}

/** What is to be known before anybody is asked: user, shape, namespace. */
function refusalOf(
  { world, session }: ZanGround,
  { command, namespace }: KeyedRequest | ScanRequest,
  line: readonly Buffer[],
  sent: Sent,
): Reply | undefined {
  const { access, router, settings } = world;
  const bad = badShape(command, line, settings().valueBytesMax);
  const refused = bad ?? access.refusalOf(session, command, line);
  if (refused !== undefined) return refused;
  if (!access.maySelect(session, namespace)) {
    return error(`NOPERM this user has no permissions to access the namespace '${namespace}'`);
  }
  const why = whyNotNamespace(router, namespace);
  return why === undefined ? undefined : refusal(why, sent.args);
}

function turnAway(
  ground: ZanGround,
  { command }: KeyedRequest | ScanRequest,
  sent: Sent,
  reply: Reply,
): void {
  ground.world.stats.refuse(command.name, reply);
  ground.settle(sent, reply);
}

function answer(
  ground: ZanGround,
  { command }: KeyedRequest | ScanRequest,
  sent: Sent,
  reply: Reply,
  fate: Fate,
): void {
  const { watch } = ground.world;
  const said = asZanSays(reply, fate, sent.args);
  const away = fate === 'not-proposed';
  watch.answered(ground.session, command, sent.args, sent.arrivedMs, said, { away });
  ground.settle(sent, said);
}

/**
 * The partitions are asked one after the other until the page is full; where each goes on is in the
 * cursor. A scan begins with those led here: a client asks every node. It goes on with those of its
 * cursor, wherever they are led by then.
 */
export function runScan(ground: ZanGround, request: ScanRequest, sent: Sent): void {
  const { world } = ground;
  const line = request.lineFrom(NOTHING, request.count);
  const wrong = refusalOf(ground, request, line, sent);
  if (wrong !== undefined) return turnAway(ground, request, sent, wrong);
  const prepared = request.command.prepare(line);
  if (!prepared.ok) return answer(ground, request, sent, prepared.reply, 'done');
  const begun = request.cursor.length > 0;
  const places = begun ? placesOf(ground, request) : ledHere(ground, request);
  if (typeof places === 'string') {
    return turnAway(ground, request, sent, refusal(places, sent.args));
  }
  world.watch.begins(ground.session, request.command, sent.args);
  new TableWalk(ground, request, sent, places, begun).next();
}

/** Where a scan goes on; or why it cannot. */
function placesOf(
  { world }: ZanGround,
  { namespace, cursor }: ScanRequest,
): PartitionPlace[] | string {
  const { length } = world.router.routes.partitions(namespace)!;
  return decodeCursor(cursor, length, world.settings().valueBytesMax) ?? INVALID_CURSOR;
}

/**
 * Where a scan begins; or why it cannot: a partition with a replica here that nobody is known to lead
 * would be left out by every node that is asked.
 */
function ledHere({ world }: ZanGround, { namespace }: ScanRequest): PartitionPlace[] | string {
  const { node, router } = world;
  const places: PartitionPlace[] = [];
  for (const { partition } of router.routes.partitions(namespace)!) {
    const why = whyNotHere(router, node, placeOf(router, namespace, partition), false);
    if (why === undefined) places.push({ partition, place: NOTHING });
    else if (why === NO_LEADER) return why;
  }
  return places;
}

class TableWalk {
  readonly #ground: ZanGround;
  readonly #request: ScanRequest;
  readonly #sent: Sent;
  readonly #places: readonly PartitionPlace[];
  readonly #anywhere: boolean;
  readonly #items: Reply[] = [];
  #bytes = 0;
  /** Of the places, the one that is asked next. */
  #at = 0;

  constructor(
    ground: ZanGround,
    request: ScanRequest,
    sent: Sent,
    places: readonly PartitionPlace[],
    anywhere: boolean,
  ) {
    this.#ground = ground;
    this.#request = request;
    this.#sent = sent;
    this.#places = places;
    this.#anywhere = anywhere;
  }

  /** Asks the first of the partitions that are left. */
  next(): void {
    const first = this.#places[this.#at];
    const left = this.#request.count - this.#items.length;
    if (first === undefined || left <= 0 || this.#bytes > limits.batchReplyBytes) {
      return this.#end();
    }
    const { command } = this.#request;
    ask(this.#ground, this.#request, first.partition, {
      sent: this.#sent,
      command,
      line: this.#request.lineFrom(first.place, left),
      anywhere: this.#anywhere,
      settle: (reply, fate) => this.#take(first.partition, reply, fate),
    });
    this.#ground.lanes.start();
  }

  #take(partition: PartitionId, reply: Reply, fate: Fate): void {
    const page = pageOf(reply);
    if (page === undefined) return answer(this.#ground, this.#request, this.#sent, reply, fate);
    this.#bytes += replyBytes(reply);
    this.#items.push(...page.items);
    this.#at++;
    if (page.next.length === 0) return this.next();
    // a page that ends early has looked at enough for one request
    this.#end({ partition, place: page.next });
  }

  /** `begun`: the partition that has more to give, where it goes on. */
  #end(...begun: PartitionPlace[]): void {
    const left = [...begun, ...this.#places.slice(this.#at)];
    const cursor = left.length === 0 ? NOTHING : encodeCursor(left);
    const reply = array([bulk(cursor), array(this.#items)]);
    answer(this.#ground, this.#request, this.#sent, reply, 'done');
  }
}

interface Page {
  readonly next: Buffer;
  readonly items: readonly Reply[];
}

/** A partition's part of a scan; undefined for an error. */
function pageOf(reply: Reply): Page | undefined {
  const plain =
    reply.kind === 'packed'
      ? decodeReply(encodeReply(reply, 3))
      : reply.kind === 'encoded'
        ? decodeReply(reply.bytes)
        : reply;
  if (plain.kind !== 'array' || plain.items[0]?.kind !== 'array') return undefined;
  const [next, ...items] = plain.items[0].items;
  return next?.kind === 'bulk' ? { next: next.bytes, items } : undefined;
}

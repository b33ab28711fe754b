/** What every client was told, and when; times in milliseconds of this process's monotonic clock. */
import { initialSlotRange, slotOfKey } from '../src/common/hash.ts';
import type { Call } from '../test/linearizability/history.ts';
import type { DoorKind, Outcome, Request } from './doors.ts';

export interface Answered {
  readonly door: DoorKind;
  readonly partition: number;
  readonly invokedMs: number;
  readonly endedMs: number;
  readonly outcome: Outcome['kind'];
}

const TEXTS_MAX = 40;

export class Recorder {
  readonly calls: Call[] = [];
  readonly answers: Answered[] = [];
  /** What probes of partitions were told; nothing else is concluded from them. */
  readonly probes: Answered[] = [];
  readonly counts = { ok: 0, refused: 0, unknown: 0 };
  /** How often clients heard what, without its numbers and addresses. */
  readonly texts = new Map<string, number>();
  readonly partitions: number;
  readonly #slotsFrom: number[];

  constructor(partitions: number) {
    this.partitions = partitions;
    this.#slotsFrom = Array.from({ length: partitions }, (_, at) =>
      Number(initialSlotRange(at, partitions)[0]),
    );
  }

  note(
    client: string,
    door: DoorKind,
    request: Request,
    times: { readonly invokedMs: number; readonly endedMs: number },
    outcome: Outcome,
  ): void {
    const { invokedMs, endedMs } = times;
    this.counts[outcome.kind]++;
    const partition = this.partitionOf(request.watch ?? request.lines[0]![1]!);
    this.answers.push({ door, partition, invokedMs, endedMs, outcome: outcome.kind });
    if (outcome.kind !== 'ok') this.#noteText(`${outcome.kind}: ${outcome.why}`);
    if (outcome.kind === 'refused') return;
    // a key whose value was never learned cannot be a condition: what followed was not sent
    const { watch: key, lines, isTransaction } = request;
    this.calls.push({
      client: `${door}/${client}`,
      lines,
      ...(isTransaction && { isTransaction }),
      ...(key !== undefined && { watched: { key, text: outcome.watched ?? null } }),
      invokedMs,
      returnedMs: outcome.kind === 'ok' ? endedMs : Number.POSITIVE_INFINITY,
      ...(outcome.kind === 'ok' && { reply: outcome.reply }),
      ...(outcome.kind === 'ok' && outcome.place && { place: outcome.place }),
    });
  }

  noteProbe(probe: Answered): void {
    this.probes.push(probe);
  }

  partitionOf(key: string): number {
    const slot = Number(slotOfKey(Buffer.from(key)));
    let partition = 0;
    while (partition + 1 < this.#slotsFrom.length && this.#slotsFrom[partition + 1]! <= slot) {
      partition++;
    }
    return partition;
  }

  /** A key of each partition, for probes. */
  keyOf(partition: number): string {
    for (let at = 0; ; at++) {
      const key = `probe:${at}`;
      if (this.partitionOf(key) === partition) return key;
    }
  }

  #noteText(text: string): void {
    const plain = text.replaceAll(/\d+(?:\.\d+)*(?::\d+)?/g, '#').slice(0, 160);
    if (this.texts.size >= TEXTS_MAX && !this.texts.has(plain)) return;
    this.texts.set(plain, (this.texts.get(plain) ?? 0) + 1);
  }
}

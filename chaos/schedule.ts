/** What happens to the cluster, and to whom; pure, drawn from a seed. */
import { type Random, seededRandom } from '../src/common/random.ts';

export const faultKinds = [
  'kill',
  'kill-two',
  'kill-all',
  'pause',
  'isolate',
  'one-way',
  'bridge',
  'halves',
  'loss',
  'slow-link',
  'full-disk',
  'clock',
  'etcd-kill',
  'etcd-pause',
  'placedriver',
  'rolling-restart',
  'rebalance',
] as const;

export type FaultKind = (typeof faultKinds)[number];

export interface PlannedFault {
  readonly kind: FaultKind;
  /** Peace before it. */
  readonly quietMs: number;
  /** From its beginning until it is healed. */
  readonly holdMs: number;
  /** All machines in a drawn order: the first is the victim, the second the other one, … */
  readonly machines: readonly number[];
  /** In [0, 1): how much of it, where that can differ. */
  readonly strength: number;
}

const HOLD_MS: Readonly<Partial<Record<FaultKind, readonly [number, number]>>> = {
  'kill-all': [500, 3_000],
  pause: [500, 8_000],
  'rolling-restart': [0, 0],
  rebalance: [0, 0],
};
const HOLD_USUAL_MS = [2_000, 8_000] as const;

/**
 * Faults without end: every kind once, in a drawn order, then all of them again. `machines` are
 * those with a datanode.
 */
export function* schedule(
  seed: string,
  kinds: readonly FaultKind[],
  machines: number,
): Generator<PlannedFault, never> {
  const random = seededRandom(`chaos ${seed}`);
  if (kinds.length === 0) throw new Error('no fault is left that this machine allows');
  for (;;) {
    for (const kind of shuffled(random, kinds)) {
      const [least, most] = HOLD_MS[kind] ?? HOLD_USUAL_MS;
      yield {
        kind,
        quietMs: 1_500 + random.below(2_500),
        holdMs: least + random.below(most - least + 1),
        machines: shuffled(
          random,
          Array.from({ length: machines }, (_, at) => at),
        ),
        strength: random.float(),
      };
    }
  }
}

function shuffled<T>(random: Random, all: readonly T[]): T[] {
  const drawn = [...all];
  for (let at = drawn.length - 1; at > 0; at--) {
    const other = random.below(at + 1);
    [drawn[at], drawn[other]] = [drawn[other]!, drawn[at]!];
  }
  return drawn;
}

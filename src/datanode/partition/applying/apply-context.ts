/** What the commands of an entry may know beside the data, alike on every replica. */
import type { KeyShare } from '../../../common/hash.ts';
import { seededRandom } from '../../../common/random.ts';
import { applyVersions } from '../../commands/rows/apply-versions.ts';
import { rdbVersions } from '../../encoding/rdb/rdb-payload.ts';
import type { Pacing } from '../../encoding/steps/slices.ts';
import type { Envelope } from '../entries/envelope.ts';
import type { ApplyContext } from './apply-lines.ts';
import type { ScriptEffects } from './script-effects.ts';

export interface AppliedWith {
  readonly share: KeyShare;
  readonly pace: Pacing;
  readonly effects: ScriptEffects;
}

export function applyContext(
  { seed, body }: Envelope,
  nowMs: number,
  { share, pace, effects }: AppliedWith,
): ApplyContext {
  const random = seededRandom(seed);
  const { firstSlot, lastSlot, murmur3 } = share;
  const applyVersion = (body.family === 'redis' && body.applyVersion) || applyVersions.plain;
  const knowsDeadlines = applyVersion >= applyVersions.fieldDeadlines;
  const { withFieldDeadlines, withoutFieldDeadlines } = rdbVersions;
  const rdbVersion = knowsDeadlines ? withFieldDeadlines : withoutFieldDeadlines;
  const uniform = () => random.float();
  const own = { firstSlot, lastSlot, murmur3, pace, effects };
  return { nowMs, random: uniform, rdbVersion, applyVersion, ...own };
}

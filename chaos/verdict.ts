/** Judges a recorded history. */
import {
  type Anomaly,
  findAnomalies,
  type Step,
  type Transaction,
} from '../test/linearizability/append.ts';
import {
  type Call,
  judgePart,
  type PartFinding,
  partsOf,
  type Slack,
  showCall,
} from '../test/linearizability/history.ts';
import { judgePlaces, type PlacesVerdict } from '../test/linearizability/replay.ts';

export interface Verdict {
  readonly calls: number;
  readonly unknown: number;
  readonly parts: number;
  readonly largestPart: number;
  readonly appends: number;
  /** Blocking pops that ended with nothing: they say nothing, and are not judged. */
  readonly vain: number;
  /** Parts that have no order. */
  readonly violations: readonly PartFinding[];
  /** Parts whose search was too large. */
  readonly undecided: readonly PartFinding[];
  readonly anomalies: readonly Anomaly[];
  /** By where calls stood in the logs. */
  readonly places: PlacesVerdict;
  readonly tookMs: number;
}

/**
 * A node's wall clock may drag the time of expiry by `max-clock-skew-ms` (500) either way, and a new
 * leader's group time may differ from the last one's by twice that; what is expired is taken away by
 * the log, which may have to wait for a leader: that is in the interval of the read.
 */
const SLACK: Slack = { earlyMs: 1_100, lateMs: 1_100 };
const SHOWN_MAX = 80;

/** `pauseNow` lets other work of the process go on. */
export async function judge(
  calls: readonly Call[],
  pauseNow: () => Promise<void>,
): Promise<Verdict> {
  const began = performance.now();
  const violations: PartFinding[] = [];
  const undecided: PartFinding[] = [];
  let largestPart = 0;
  const judged = calls.filter((call) => !isVain(call));
  const parts = partsOf(judged);
  for (const part of parts) {
    largestPart = Math.max(largestPart, part.calls.length);
    const finding = judgePart(part.calls, SLACK);
    if (finding.verdict === 'no') violations.push({ ...part, finding });
    if (finding.verdict === 'undecided') undecided.push({ ...part, finding });
    await pauseNow();
  }
  const appends = calls
    .filter(({ lines }) => lines[0]![1]!.includes(':append:'))
    .map(transactionOf);
  return {
    calls: calls.length,
    unknown: calls.filter(({ reply }) => reply === undefined).length,
    parts: parts.length,
    vain: calls.length - judged.length,
    largestPart,
    appends: appends.length,
    ...{ violations, undecided },
    anomalies: findAnomalies(appends),
    places: judgePlaces(judged, SLACK),
    tookMs: performance.now() - began,
  };
}

export const isClean = ({ violations, anomalies, undecided, places }: Verdict): boolean =>
  [violations, anomalies, undecided, places.findings].every(({ length }) => length === 0);

/** What was found, with the calls it was found in. */
export function showFindings({ violations, undecided, anomalies, places }: Verdict): string {
  const parts = [...violations, ...undecided].map(({ keys, calls, finding }) => {
    const why =
      finding.verdict === 'no'
        ? `no order: ${finding.explained} calls are explained, state ${finding.state}, then\n` +
          finding.stuck.map((line) => `    ${line}`).join('\n')
        : finding.verdict === 'undecided'
          ? finding.why
          : '';
    const shown = [...calls].sort((a, b) => a.invokedMs - b.invokedMs).slice(-SHOWN_MAX);
    return [`${keys.join(', ')}: ${why}`, ...shown.map((call) => `  ${showCall(call)}`)].join('\n');
  });
  const cycles = anomalies.map(({ kind, what }) => `${kind}: ${what}`);
  return [...parts, ...cycles, ...places.findings].join('\n\n');
}

/**
 * A blocking pop's time runs from its arrival at a node. When that node can reach no leader until the
 * time is up, it answers nil as well, whether there are elements or not.
 */
function isVain({ lines: [[name = ''] = []], reply }: Call): boolean {
  return reply === null && (name === 'BLPOP' || name === 'BRPOP');
}

function transactionOf(call: Call): Transaction {
  const { lines, reply, isTransaction, invokedMs, returnedMs } = call;
  const replies = isTransaction ? (reply as readonly unknown[] | undefined) : [reply];
  return {
    label: showCall(call),
    invokedMs,
    returnedMs,
    steps: lines.map(([name = '', key = '', element = ''], at): Step => {
      if (name === 'RPUSH') return { kind: 'append', key, element };
      const items = reply === undefined ? undefined : (replies![at] as readonly string[]);
      return { kind: 'read', key, ...(items && { items }) };
    }),
  };
}

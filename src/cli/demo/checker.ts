/**
 * Judges a run from its outside: what clients were told of their writes, and what was read after
 * all had ended. Pure, and it knows nothing of how either came about.
 *
 * An acknowledged write whose effect is not found is lost. An effect for which no write can be
 * found, acknowledged or of unknown outcome, is a duplicate of one that was made.
 */
import type { Told } from './told.ts';

/** A counter or register as text, null when there is none; the elements of a list. */
export type Found = string | null | readonly string[];

export interface Verdict {
  /** Acknowledged writes that were judged. */
  readonly acknowledged: number;
  readonly lost: number;
  readonly duplicates: number;
  /** Found values that nobody can have written. */
  readonly unexpected: number;
  /** One sentence for each key and kind of finding. */
  readonly findings: readonly string[];
}

interface Findings {
  readonly lost: readonly string[];
  readonly duplicates: readonly string[];
  readonly unexpected: readonly string[];
}

/** A key that `found` lacks counts as absent. */
export function check(told: readonly Told[], found: ReadonlyMap<string, Found>): Verdict {
  const totals = { acknowledged: 0, lost: 0, duplicates: 0, unexpected: 0 };
  const findings: string[] = [];
  for (const one of told) {
    totals.acknowledged += one.acknowledged.length;
    const judged = judge(one, found.get(one.key) ?? null);
    for (const kind of ['lost', 'duplicates', 'unexpected'] as const) {
      const [first] = judged[kind];
      if (first === undefined) continue;
      totals[kind] += judged[kind].length;
      findings.push(`${one.key}: ${judged[kind].length} ${kind}, the first ${first}`);
    }
  }
  return { ...totals, findings };
}

function judge(told: Told, found: Found): Findings {
  if (told.kind === 'list') return judgeList(told, found ?? []);
  if (typeof found === 'object' && found !== null) return stranger('a list');
  if (found !== null && !/^\d{1,15}$/.test(found)) return stranger(JSON.stringify(found));
  const value = found === null ? undefined : Number(found);
  return told.kind === 'counter' ? judgeCounter(told, value ?? 0) : judgeRegister(told, value);
}

/** Each INCR that took effect made one of the numbers up to `value`, and answered it. */
function judgeCounter({ acknowledged, unknown }: Told, value: number): Findings {
  const answered = new Set<number>();
  const lost: string[] = [];
  for (const answer of acknowledged) {
    if (answered.has(answer)) lost.push(`INCR was answered ${answer} a second time`);
    else if (!(answer >= 1 && answer <= value))
      lost.push(`INCR was answered ${answer}, and the counter is ${value}`);
    answered.add(answer);
  }
  const gaps: string[] = [];
  for (let at = 1; at <= value; at++) {
    if (!answered.has(at)) gaps.push(`INCR to ${at} was no client's`);
  }
  // Any of the gaps may be a write whose outcome is unknown.
  return { lost, duplicates: gaps.slice(unknown.length), unexpected: [] };
}

function judgeList({ acknowledged, unknown }: Told, found: Found): Findings {
  if (typeof found === 'string' || found === null) return stranger('no list');
  const times = new Map<string, number>();
  for (const element of found) times.set(element, (times.get(element) ?? 0) + 1);
  const written = new Set([...acknowledged, ...unknown].map(String));
  const missing = acknowledged.filter((element) => !times.has(String(element)));
  const repeated = [...times].filter(([, count]) => count > 1);
  return {
    lost: missing.map((element) => `element ${element} is missing`),
    duplicates: repeated.flatMap(([element, count]) =>
      Array.from({ length: count - 1 }, () => `element ${element} is there ${count} times`),
    ),
    unexpected: [...times.keys()]
      .filter((element) => !written.has(element))
      .map((element) => `element ${element} was not to be there`),
  };
}

/** The last acknowledged value, or one of unknown outcome that was sent after it. */
function judgeRegister({ acknowledged, unknown }: Told, value: number | undefined): Findings {
  const last = acknowledged.at(-1);
  if (value === last || (value !== undefined && value > (last ?? 0) && unknown.includes(value))) {
    return { lost: [], duplicates: [], unexpected: [] };
  }
  if (value !== undefined && value > (last ?? 0)) return stranger(String(value));
  const text = `SET to ${last} was acknowledged, and the value is ${value ?? 'none'}`;
  return { lost: [text], duplicates: [], unexpected: [] };
}

function stranger(what: string): Findings {
  return { lost: [], duplicates: [], unexpected: [`value is ${what}`] };
}

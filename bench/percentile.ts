/**
 * The smallest of `values` that at least a `share` (0 to 1) of them do not exceed: the nearest rank.
 * Of fewer than 100 values the 99th percentile is thus the largest. NaN of none.
 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

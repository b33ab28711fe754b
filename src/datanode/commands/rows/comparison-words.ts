/** The words of a comparison: of SET, where they change what it reads, and of DELEX. */
export type ComparisonKind = 'ifeq' | 'ifne' | 'ifdeq' | 'ifdne';

const kinds: readonly string[] = ['ifeq', 'ifne', 'ifdeq', 'ifdne'] satisfies ComparisonKind[];

/** `option`: in lower case. */
export function isComparison(option: string): option is ComparisonKind {
  return kinds.includes(option);
}

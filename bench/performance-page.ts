/** docs/performance.md: the figures of the last run, and what a person wrote about them; pure. */
import { onPage, round, type Sheet } from './sheet.ts';
import { type Judged, shareOf } from './targets.ts';

export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryBytes: number;
  readonly node: string;
  readonly system: string;
  readonly syncP50Ms: number;
  readonly syncP99Ms: number;
  readonly busyCoresBefore: number;
}

export interface Written {
  readonly machine: Machine;
  /** The day it was measured. */
  readonly date: string;
  /** What repeats it. */
  readonly command: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly targets: readonly Judged[];
  /** All the rest that is shown, in order. */
  readonly sheets: readonly Sheet[];
  /** What was planned and not measured, with the reason. */
  readonly leftOut: readonly string[];
}

export const BEGIN = '<!-- by hand: what stands between these marks is kept by the next run -->';
export const END = '<!-- by hand: end -->';

const nothingYet = `## Where the time goes

Nothing has been written here yet: profile one SET and one GET, and say where their time goes.`;

/** The command that was given, as a person repeats it: where its data and figures went is left out. */
export function commandOf(words: readonly string[]): string {
  const isPlace = (word: string | undefined) => word === '--json' || word === '--data';
  const told = words.filter((word, at) => {
    return !isPlace(word) && !isPlace(words[at - 1]) && !/^--(?:json|data)=/.test(word);
  });
  return ['npm run bench', ...(told.length > 0 ? ['--', ...told] : [])].join(' ');
}

/**
 * What a person wrote into the page. Throws when its marks are not there as they should be: it would
 * be lost. `page`: as it is now; undefined when there is none.
 */
export function keptPart(page: string | undefined): string {
  if (page === undefined) return nothingYet;
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  const isWhole = begin >= 0 && end > begin && page.lastIndexOf(BEGIN) === begin;
  if (isWhole && page.lastIndexOf(END) === end) return page.slice(begin + BEGIN.length, end).trim();
  throw new Error(
    `docs/performance.md must have once "${BEGIN}" and after it once "${END}"; ` +
      'what is between them is kept: put them back, or move the file away',
  );
}

export function performancePage(written: Written, kept: string): string {
  const { machine, date, command, rounds, seconds, targets, sheets, leftOut } = written;
  const { cores, processor, node, system, syncP50Ms, syncP99Ms, busyCoresBefore } = machine;
  const measured = targets.filter((one) => one.measured !== undefined);
  const reached = measured.filter((one) => shareOf(one, one.reach) >= 1);
  const atGoal = measured.filter((one) => shareOf(one, one.goal) >= 1);
  const often =
    rounds > 1 ? `the median of ${rounds} rounds (with the lowest and highest)` : 'once';
  const busy =
    busyCoresBefore > 0.2
      ? ` **Other programs kept ${busyCoresBefore.toFixed(1)} cores busy when it began.**`
      : '';
  return `# Performance, as measured

This page is written by \`${command}\`, which repeats it; what is below is one run, nothing is picked.
The part on where the time goes is written by hand and stays.

${date}, ${system}, ${cores} cores (${processor}), ${round(machine.memoryBytes / 1e9)} GB of memory, Node.js ${node}. A synced write
of 4 KiB takes ${round(syncP50Ms)} ms (median), ${round(syncP99Ms)} ms (p99). Everything runs on this one machine: the
servers, three of them where three are needed, and what loads them; only one system at a time. Each row
was measured for ${seconds} s when the system was warm, ${often}.${busy}

**${reached.length} of ${measured.length} targets that were measured are reached, ${atGoal.length} of them at their goal.**

![Throughput and targets](performance.svg)

${[...sheets.map((sheet) => onPage(sheet, 2)), ...omissions(leftOut)].join('\n\n')}

${BEGIN}
${kept}
${END}
`;
}

function omissions(leftOut: readonly string[]): string[] {
  if (leftOut.length === 0) return [];
  return [['## Not measured', '', ...leftOut.map((text) => `- ${text}`)].join('\n')];
}

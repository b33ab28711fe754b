/** What a demonstration has come to, for people and for programs. Pure. */
import { styleText } from 'node:util';
import type { Verdict } from './checker.ts';

/** A process that was killed. */
export interface Kill {
  readonly node: string;
  readonly pid: number;
  /** Partitions that it led. */
  readonly led: number;
  /** From the kill until all its replicas ran again, in milliseconds. */
  readonly backMs: number;
}

export interface DemoReport {
  /** Of load. */
  readonly seconds: number;
  readonly partitions: number;
  readonly kills: readonly Kill[];
  readonly acknowledgedWrites: number;
  readonly acknowledgedWritesLost: number;
  readonly duplicates: number;
  /** Values found that nobody can have written. */
  readonly unexpected: number;
  readonly clientErrors: number;
  /** The longest that any client waited for the answer to one write. */
  readonly longestPauseMs: number;
  readonly findings: readonly string[];
  /** The first errors that clients got. */
  readonly errors: readonly string[];
}

export interface Judged {
  readonly verdict: Verdict;
  readonly clientErrors: number;
  readonly longestPauseMs: number;
  readonly errors: readonly string[];
}

const FINDINGS_SHOWN = 10;

export function makeReport(
  run: Pick<DemoReport, 'seconds' | 'partitions' | 'kills'>,
  { verdict, clientErrors, longestPauseMs, errors }: Judged,
): DemoReport {
  return {
    ...run,
    acknowledgedWrites: verdict.acknowledged,
    acknowledgedWritesLost: verdict.lost,
    duplicates: verdict.duplicates,
    unexpected: verdict.unexpected,
    clientErrors,
    longestPauseMs: Math.round(longestPauseMs),
    findings: verdict.findings,
    errors,
  };
}

/** Nothing was lost, done twice or refused; something was written, or nothing was shown. */
export function isClean(report: DemoReport): boolean {
  const { acknowledgedWritesLost, duplicates, unexpected, clientErrors } = report;
  const found = acknowledgedWritesLost + duplicates + unexpected + clientErrors;
  return found === 0 && report.acknowledgedWrites > 0;
}

type Paint = (color: 'bold' | 'green' | 'red' | 'dim', text: string) => string;

/** With colours where `colored`. */
export function reportLines(report: DemoReport, colored: boolean): string[] {
  const paint: Paint = (color, text) =>
    colored ? styleText(color, text, { validateStream: false }) : text;
  const rows: [label: string, text: string, color: Parameters<Paint>[0]][] = [
    ['acknowledged writes', grouped(report.acknowledgedWrites), 'bold'],
    zero('acknowledged writes lost', report.acknowledgedWritesLost),
    zero('duplicates', report.duplicates),
    zero('client errors', report.clientErrors),
    ['longest pause', `${grouped(report.longestPauseMs)} ms`, 'bold'],
  ];
  if (report.unexpected > 0) rows.splice(3, 0, zero('values nobody wrote', report.unexpected));
  const widest = Math.max(...rows.map(([, text]) => text.replace(' ms', '').length));
  const said = [...report.findings, ...report.errors];
  return [
    ...rows.map(([label, text, color]) => {
      const number = text.replace(' ms', '').padStart(widest);
      return `  ${label.padEnd(26)}${paint(color, number)}${text.endsWith(' ms') ? ' ms' : ''}`;
    }),
    ...said.slice(0, FINDINGS_SHOWN).map((text) => `  ${paint('red', text)}`),
    ...(said.length > FINDINGS_SHOWN ? [`  … and ${said.length - FINDINGS_SHOWN} more`] : []),
  ];
}

function zero(label: string, count: number): [string, string, 'green' | 'red'] {
  return [label, grouped(count), count === 0 ? 'green' : 'red'];
}

/** `1,234,567` */
export function grouped(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

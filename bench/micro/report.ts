/** The figures of the micro-benchmarks as a sheet; pure. */
import { round, type Sheet } from '../sheet.ts';
import { type RoomName, rooms } from './rooms.ts';

export interface MicroFigure {
  readonly room: RoomName;
  readonly leastNs: number;
  readonly medianNs: number;
  /** Undefined where they cannot be counted. */
  readonly instructions?: number;
}

/** `before`: the figures of an earlier run, to be compared with. */
export function microSheet(
  figures: readonly MicroFigure[],
  before: readonly MicroFigure[],
  noInstructions: string | undefined,
): Sheet {
  const rows = figures.map((figure) => {
    const { room, leastNs, medianNs, instructions } = figure;
    const old = before.find((one) => one.room === room);
    const counted = instructions === undefined ? '–' : round(instructions);
    const cells = [room, round(leastNs), round(medianNs), counted];
    const beside = before.length === 0 ? [] : [ratio(figure, old)];
    return [...cells, ...beside, rooms[room].text];
  });
  const head = ['', 'ns a command', 'median', 'instructions'];
  if (before.length > 0) head.push('before');
  const notes = noInstructions === undefined ? [] : [`No instructions counted: ${noInstructions}.`];
  return { title: 'rooms of the hot path', head: [...head, ''], rows, notes, endsInWords: true };
}

/** By instructions where both runs have them: they do not depend on the machine's other work. */
function ratio(now: MicroFigure, old: MicroFigure | undefined): string {
  if (old === undefined) return '–';
  const [a, b] =
    now.instructions !== undefined && old.instructions !== undefined
      ? [now.instructions, old.instructions]
      : [now.leastNs, old.leastNs];
  const percent = (a / b - 1) * 100;
  return `${percent >= 0 ? '+' : '−'}${Math.abs(percent).toFixed(1)} %`;
}

/** Bars of figures that differ by orders of magnitude, on a logarithmic axis, as an SVG; pure. */
import { drawing, escaped, niceCeiling } from '../tools/svg.ts';

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** As it is written beside the bar. */
  readonly text: string;
  readonly color: string;
}

export interface Group {
  readonly title: string;
  readonly bars: readonly Bar[];
}

export interface Panel {
  readonly title: string;
  readonly groups: readonly Group[];
  /** A line across all bars. */
  readonly mark?: { readonly value: number; readonly text: string };
}

const WIDTH = 1_000;
const LEFT = 380;
const RIGHT = 150;
const BAR = 15;
const GROUP_GAP = 8;
const PANEL_TOP = 34;
const PANEL_BOTTOM = 26;
const TOP = 30;

/** Panels below each other, each with an axis of its own. What is not a number above 0 has no bar. */
export function drawBars(title: string, panels: readonly Panel[]): string {
  const shapes: string[] = [];
  let y = TOP;
  for (const panel of panels) {
    const drawn = drawPanel(panel, y);
    shapes.push(...drawn.shapes);
    y = drawn.bottom;
  }
  return drawing({ width: WIDTH, height: Math.round(y), title, left: 10 }, shapes);
}

function drawPanel({ title, groups, mark }: Panel, top: number) {
  const values = groups.flatMap(({ bars }) => bars.map(({ value }) => value));
  if (mark !== undefined) values.push(mark.value);
  const shown = values.filter((value) => Number.isFinite(value) && value > 0);
  const most = niceCeiling(Math.max(...shown));
  const least = 10 ** Math.floor(Math.log10(Math.min(...shown)) - 0.01);
  const x = (value: number) =>
    LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(value / least)) / Math.log(most / least);
  const shapes = [`<text x="10" y="${top + 16}" font-size="13">${escaped(title)}</text>`];
  const barsTop = top + PANEL_TOP;
  let y = barsTop;
  const bars: string[] = [];
  for (const group of groups) {
    bars.push(`<text x="10" y="${y + BAR - 4}" font-weight="bold">${escaped(group.title)}</text>`);
    for (const bar of group.bars) {
      bars.push(...drawBar(bar, y, x));
      y += BAR;
    }
    y += GROUP_GAP;
  }
  for (let tick = least; tick <= most; tick *= 10)
    shapes.push(...drawTick(x(tick), barsTop, y, tick));
  const line = mark === undefined ? [] : drawMark(x(mark.value), barsTop, y, mark.text);
  return { shapes: [...shapes, ...bars, ...line], bottom: y + PANEL_BOTTOM };
}

const at = (value: number) => value.toFixed(1);

function drawBar({ label, value, text, color }: Bar, y: number, x: (value: number) => number) {
  const name = `<text x="${LEFT - 6}" y="${y + BAR - 4}" text-anchor="end">${escaped(label)}</text>`;
  if (!Number.isFinite(value) || value <= 0) return [name];
  const end = x(value);
  return [
    name,
    `<rect x="${LEFT}" y="${y + 1}" width="${at(end - LEFT)}" height="${BAR - 3}" fill="${color}"/>`,
    `<text x="${at(end + 4)}" y="${y + BAR - 4}">${escaped(text)}</text>`,
  ];
}

function drawTick(x: number, top: number, bottom: number, value: number): string[] {
  const text = value.toLocaleString('en-US', { maximumFractionDigits: 6 });
  return [
    `<line x1="${at(x)}" x2="${at(x)}" y1="${top}" y2="${at(bottom)}" stroke="#ddd"/>`,
    `<text x="${at(x)}" y="${at(bottom + 10)}" text-anchor="middle">${text}</text>`,
  ];
}

function drawMark(x: number, top: number, bottom: number, text: string): string[] {
  return [
    `<line x1="${at(x)}" x2="${at(x)}" y1="${top - 4}" y2="${at(bottom)}" stroke="#b3261e"/>`,
    `<text x="${at(x)}" y="${top - 6}" text-anchor="middle" fill="#b3261e">${escaped(text)}</text>`,
  ];
}

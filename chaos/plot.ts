/** Throughput over time with the faults as bands, as an SVG; pure. */
import { drawing, escaped, niceCeiling } from '../tools/svg.ts';

export interface Band {
  readonly label: string;
  readonly fromS: number;
  readonly toS: number;
}

export interface Plot {
  readonly title: string;
  /** Calls per second, one value for each `bucketS` seconds. */
  readonly values: readonly number[];
  readonly bucketS: number;
  readonly bands: readonly Band[];
}

const WIDTH = 1_200;
const HEIGHT = 420;
const LEFT = 60;
const TOP = 130;
const BOTTOM = 40;

export function drawPlot({ title, values, bucketS, bands }: Plot): string {
  const seconds = Math.max(1, values.length * bucketS);
  const most = niceCeiling(Math.max(1, ...values));
  const x = (s: number) => LEFT + ((WIDTH - LEFT - 20) * s) / seconds;
  const y = (value: number) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / most;
  const at = (value: number) => value.toFixed(1);
  const shapes = bands.map(({ label, fromS, toS }, index) => {
    const width = Math.max(1, x(toS) - x(fromS));
    const color = index % 2 === 0 ? '#f4b6a6' : '#f0d49b';
    const middle = at(x((fromS + toS) / 2));
    return (
      `<rect x="${at(x(fromS))}" y="${TOP}" width="${at(width)}" ` +
      `height="${HEIGHT - TOP - BOTTOM}" fill="${color}" opacity="0.6"/>` +
      `<text transform="translate(${middle},${TOP - 4}) rotate(-60)">${escaped(label)}</text>`
    );
  });
  const points = values.map((value, index) => `${at(x((index + 0.5) * bucketS))},${at(y(value))}`);
  const lines = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const level = at(y(most * share));
    return (
      `<line x1="${LEFT}" x2="${WIDTH - 20}" y1="${level}" y2="${level}" stroke="#ccc"/>` +
      `<text x="${LEFT - 6}" y="${level}" text-anchor="end">${Math.round(most * share)}</text>`
    );
  });
  const every = Math.max(1, Math.ceil(seconds / 10 / 10) * 10);
  const ticks = Array.from({ length: Math.floor(seconds / every) + 1 }, (_, tick) => {
    return `<text x="${at(x(tick * every))}" y="${HEIGHT - 16}">${tick * every} s</text>`;
  });
  const polyline = `<polyline fill="none" stroke="#1f5fa8" stroke-width="1.2" points="${points.join(' ')}"/>`;
  const frame = { width: WIDTH, height: HEIGHT, title, left: LEFT };
  return drawing(frame, [...shapes, ...lines, ...ticks, polyline]);
}

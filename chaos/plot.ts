/** Throughput over time with the faults as bands, as an SVG; pure. */
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
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" ` +
      'font-family="sans-serif" font-size="11">',
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${LEFT}" y="18" font-size="14">${escaped(title)}</text>`,
    ...shapes,
    ...lines,
    ...ticks,
    `<polyline fill="none" stroke="#1f5fa8" stroke-width="1.2" points="${points.join(' ')}"/>`,
    '</svg>',
    '',
  ].join('\n');
}

function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((step) => step * power).find((step) => step >= value)!;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

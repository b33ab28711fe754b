/** What the plots of our reports have in common; pure. */

/** A drawing of `width` × `height` on white, with a title; `shapes` are elements of SVG. */
export function drawing(
  { width, height, title, left }: DrawingFrame,
  shapes: readonly string[],
): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      'font-family="sans-serif" font-size="11">',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${left}" y="18" font-size="14">${escaped(title)}</text>`,
    ...shapes,
    '</svg>',
    '',
  ].join('\n');
}

export interface DrawingFrame {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  /** Where the title begins. */
  readonly left: number;
}

/** The next round number: the upper end of an axis that holds `value`, which is above 0. */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((step) => step * power).find((step) => step >= value)!;
}

/** Text as it may stand between tags. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Kinds of bytes, as C has them without a locale. */
export const END = -1;

export const LINE_FEED = 10;
export const CARRIAGE_RETURN = 13;

export function isDigit(c: number): boolean {
  return c >= 48 && c <= 57;
}

export function isLetter(c: number): boolean {
  return (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || c === 95;
}

export function isSpace(c: number): boolean {
  return c === 32 || (c >= 9 && c <= 13);
}

export function isLineEnd(c: number): boolean {
  return c === LINE_FEED || c === CARRIAGE_RETURN;
}

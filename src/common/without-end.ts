/**
 * A text without the characters that it ends with. `/[\r\n]+$/` would begin anew at each of them
 * where another character follows: quadratic in a million of them.
 */

/** `text` without what it ends with, as long as that is one of the characters of `ends`. */
export function withoutEnd(text: string, ends: string): string {
  let { length } = text;
  while (length > 0 && ends.includes(text[length - 1]!)) length--;
  return text.slice(0, length);
}

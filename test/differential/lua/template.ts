/** Arbitrary pieces of Lua, written as the text they become. */
import fc from 'fast-check';

export type Lua = fc.Arbitrary<string>;

/** lua`${number} + ${number}` is a text with a draw in each place. */
export function lua(texts: TemplateStringsArray, ...parts: readonly (string | Lua)[]): Lua {
  const drawn = parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part));
  return fc
    .tuple(...drawn)
    .map((values) => texts.map((text, at) => text + (values[at] ?? '')).join(''));
}

/** One of these texts. */
export const oneOf = (...texts: readonly string[]): Lua => fc.constantFrom(...texts);

/** One of these, each as often as its weight says. */
export function pick(...choices: readonly (readonly [weight: number, one: Lua])[]): Lua {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** Between these bounds, separated by commas. */
export function list(item: Lua, minLength: number, maxLength: number): Lua {
  return fc.array(item, { minLength, maxLength }).map((items) => items.join(', '));
}

/** A literal of these bytes (latin1), which reads the same in every Lua. */
export function quote(bytes: string): string {
  const coded = (byte: string) => `\\${String(byte.charCodeAt(0)).padStart(3, '0')}`;
  return `'${bytes.replace(/[^ !#-&(-[\]-~]/g, coded)}'`;
}

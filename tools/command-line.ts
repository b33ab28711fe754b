/** What the command lines of our tools have in common: errors that name the option and its remedy. */
import { type ParseArgsConfig, parseArgs } from 'node:util';

/** `parseArgs` of Node.js, without the advice in its messages that does not fit here. */
export function parseWords<T extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: T,
) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const [first] = error instanceof Error ? error.message.split('. ') : [String(error)];
    throw new Error(first, { cause: error });
  }
}

export function number(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most) return value;
  throw new Error(`${option} ${text}: must be a number from ${least} to ${most}`);
}

export function whole(option: string, text: string, least: number, most: number): number {
  const value = number(option, text, least, most);
  if (Number.isInteger(value)) return value;
  throw new Error(`${option} ${text}: must be a whole number`);
}

export function oneOf(option: string, text: string, values: readonly number[]): number {
  const value = values.find((one) => String(one) === text);
  if (value !== undefined) return value;
  throw new Error(`${option} ${text}: must be ${values.join(' or ')}`);
}

/** The names in `text`, between commas; each must be one of `names`. */
export function listOf<Name extends string>(
  option: string,
  text: string,
  names: readonly Name[],
): readonly Name[] {
  return text.split(',').map((word) => {
    const found = names.find((name) => name === word.trim());
    if (found === undefined) throw new Error(`${option} ${word}: use ${names.join(', ')}`);
    return found;
  });
}

/** What a text is made of: a character stands for itself, the others have numbers beyond all characters. */
export type Token = number;

const RESERVED = [
  'and',
  'break',
  'do',
  'else',
  'elseif',
  'end',
  'false',
  'for',
  'function',
  'if',
  'in',
  'local',
  'nil',
  'not',
  'or',
  'repeat',
  'return',
  'then',
  'true',
  'until',
  'while',
] as const;
const OTHERS = [
  '..',
  '...',
  '==',
  '>=',
  '<=',
  '~=',
  '<number>',
  '<name>',
  '<string>',
  '<eof>',
] as const;

const FIRST = 257;
const names: readonly string[] = [...RESERVED, ...OTHERS];

type Name = (typeof RESERVED)[number] | (typeof OTHERS)[number];

/** The token of a word or sign of more than one character. */
export const TOKEN = Object.fromEntries(names.map((name, at) => [name, FIRST + at])) as Readonly<
  Record<Name, Token>
>;

const reserved = new Map<string, Token>(RESERVED.map((name) => [name, TOKEN[name]]));

/** The token of a word. */
export function wordToken(word: string): Token {
  return reserved.get(word) ?? TOKEN['<name>'];
}

/** As messages name it. */
export function tokenText(token: Token): string {
  if (token >= FIRST) return names[token - FIRST]!;
  const isControl = token < 32 || token === 127;
  return isControl ? `char(${token})` : String.fromCharCode(token);
}

/** The token of one character. */
export function sign(character: string): Token {
  return character.charCodeAt(0);
}

/** The matcher that src/datanode/commands/texts/glob.ts had first: plain, and pattern × text in the worst case. */
type Token =
  | { readonly kind: 'star' }
  | { readonly kind: 'any' }
  | { readonly kind: 'byte'; readonly byte: number }
  | { readonly kind: 'class'; readonly bytes: ReadonlySet<number>; readonly negated: boolean };

type Glob = readonly Token[];

const [STAR, ANY, OPEN, CLOSE, NOT, DASH, ESCAPE] = [...Buffer.from('*?[]^-\\')] as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];

function parseGlob(pattern: Buffer): Glob {
  const tokens: Token[] = [];
  let at = 0;
  while (at < pattern.length) {
    const byte = pattern[at]!;
    if (byte === STAR) {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' });
      at++;
    } else if (byte === ANY) {
      tokens.push({ kind: 'any' });
      at++;
    } else if (byte === OPEN) {
      const { token, end } = parseClass(pattern, at + 1);
      tokens.push(token);
      at = end;
    } else {
      if (byte === ESCAPE && at + 1 < pattern.length) at++;
      tokens.push({ kind: 'byte', byte: pattern[at]! });
      at++;
    }
  }
  return tokens;
}

/** A class that is never closed reaches to the end of the pattern. */
function parseClass(pattern: Buffer, start: number): { token: Token; end: number } {
  const negated = pattern[start] === NOT;
  const bytes = new Set<number>();
  let at = negated ? start + 1 : start;
  while (at < pattern.length && pattern[at] !== CLOSE) {
    if (pattern[at] === ESCAPE && at + 1 < pattern.length) {
      bytes.add(pattern[at + 1]!);
      at += 2;
    } else if (pattern[at + 1] === DASH && at + 2 < pattern.length) {
      const [a, b] = [pattern[at]!, pattern[at + 2]!];
      for (let byte = Math.min(a, b); byte <= Math.max(a, b); byte++) bytes.add(byte);
      at += 3;
    } else {
      bytes.add(pattern[at]!);
      at++;
    }
  }
  return { token: { kind: 'class', bytes, negated }, end: at + 1 };
}

function matches(glob: Glob, text: Buffer): boolean {
  let token = 0;
  let at = 0;
  let starToken = -1;
  let starAt = 0;
  while (at < text.length) {
    const next = glob[token];
    if (next?.kind === 'star') {
      starToken = token++;
      starAt = at;
    } else if (next && matchesByte(next, text[at]!)) {
      token++;
      at++;
    } else if (starToken >= 0) {
      token = starToken + 1;
      at = ++starAt;
    } else {
      return false;
    }
  }
  while (glob[token]?.kind === 'star') token++;
  return token === glob.length;
}

function matchesByte(token: Token, byte: number): boolean {
  switch (token.kind) {
    case 'byte':
      return token.byte === byte;
    case 'class':
      return token.bytes.has(byte) !== token.negated;
    default:
      return token.kind === 'any';
  }
}

export function matchesPlainly(pattern: Buffer, text: Buffer): boolean {
  return matches(parseGlob(pattern), text);
}

/** Configuration files: YAML (JSON is YAML too), checked by a schema, errors with line and key. */
import { closeSync, openSync, readSync } from 'node:fs';
import { type Document, Lexer, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { KvorumError, messageOf } from '../common/errors.ts';
import { limits } from '../common/limits.ts';

/** Deeper nesting than any setting has. The parser is recursive and would overflow the stack. */
const NESTING_MAX = 32;
const PROBLEMS_SHOWN = 10;
const PROBLEM_CHARACTERS_MAX = 300;

/** Throws KvorumError BAD_CONFIG that names the file, the place and what is wrong with it. */
export function loadConfig<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): z.infer<Schema> {
  return parseConfig(readText(path), path, schema);
}

export function parseConfig<Schema extends z.ZodType>(
  text: string,
  path: string,
  schema: Schema,
): z.infer<Schema> {
  const parsed = schema.safeParse(parseYaml(text, path));
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const problems = issues.slice(0, PROBLEMS_SHOWN).map((issue) => {
    const key = issue.path.join('.') || 'the file';
    return shortened(`${key}: ${issue.message}`);
  });
  if (issues.length > problems.length) problems.push(`and ${issues.length - problems.length} more`);
  throw new KvorumError('BAD_CONFIG', `${path}: ${problems.join('; ')}`);
}

/** Never more than the bound: the path may be a device that does not end. */
function readText(path: string): string {
  const bytesMax = limits.configBytesMax;
  const bytes = Buffer.alloc(bytesMax + 1);
  let length = 0;
  try {
    const file = openSync(path, 'r');
    try {
      for (let read = -1; read !== 0 && length <= bytesMax; length += read) {
        read = readSync(file, bytes, length, bytes.length - length, null);
      }
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    throw new KvorumError('BAD_CONFIG', `cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
  if (length > bytesMax) {
    throw new KvorumError('BAD_CONFIG', `${path}: longer than ${bytesMax} bytes`);
  }
  return bytes.toString('utf8', 0, length);
}

function parseYaml(text: string, path: string): unknown {
  const lines = new LineCounter();
  const bad = (offset: number, what: string) => {
    const { line, col } = lines.linePos(offset);
    return new KvorumError('BAD_CONFIG', `${path}:${line}:${col}: ${shortened(what)}`);
  };
  const deep = offsetTooDeep(text);
  if (deep !== undefined) {
    addLines(text, lines);
    throw bad(deep, `nested deeper than ${NESTING_MAX}`);
  }
  let document: Document.Parsed;
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  } catch (cause) {
    throw new KvorumError('BAD_CONFIG', `${path}: ${messageOf(cause)}`, { cause });
  }
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) throw bad(problem.pos[0], problem.message);
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {};
  } catch (cause) {
    throw new KvorumError('BAD_CONFIG', `${path}: ${messageOf(cause)}`, { cause });
  }
}

function addLines(text: string, lines: LineCounter): void {
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    lines.addNewLine(at + 1);
  }
}

/** Where the text nests too deep: by brackets, or by several dashes in one line. */
function offsetTooDeep(text: string): number | undefined {
  let [offset, brackets, dashes] = [0, 0, 0];
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme === '[' || lexeme === '{') brackets++;
    else if (lexeme === ']' || lexeme === '}') brackets--;
    else if (lexeme === '-' || lexeme === '?') dashes++;
    else if (lexeme.endsWith('\n')) dashes = 0;
    if (brackets + dashes > NESTING_MAX) return offset;
    if (!isMark(lexeme)) offset += lexeme.length;
  }
  return undefined;
}

/** The lexer's own: begin of a document or a plain scalar, they are not in the text. */
function isMark(lexeme: string): boolean {
  return lexeme === '\u0002' || lexeme === '\u001f' || lexeme === '\u0018';
}

function shortened(text: string): string {
  const max = PROBLEM_CHARACTERS_MAX;
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

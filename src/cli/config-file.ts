/** Configuration files: YAML (JSON is YAML too), checked by a schema, errors with line and key. */
import { readFileSync } from 'node:fs';
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { KvorumError, messageOf } from '../common/errors.ts';

/** Throws KvorumError BAD_CONFIG that names the file, the place and what is wrong with it. */
export function loadConfig<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): z.infer<Schema> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new KvorumError('BAD_CONFIG', `cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
  return parseConfig(text, path, schema);
}

export function parseConfig<Schema extends z.ZodType>(
  text: string,
  path: string,
  schema: Schema,
): z.infer<Schema> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [syntaxError] = document.errors;
  if (syntaxError) {
    const { line, col } = lines.linePos(syntaxError.pos[0]);
    throw new KvorumError('BAD_CONFIG', `${path}:${line}:${col}: ${syntaxError.message}`);
  }
  const parsed = schema.safeParse(document.toJS({ maxAliasCount: 100 }) ?? {});
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => {
    const key = issue.path.join('.') || 'the file';
    return `${key}: ${issue.message}`;
  });
  throw new KvorumError('BAD_CONFIG', `${path}: ${problems.join('; ')}`);
}

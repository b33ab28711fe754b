/** The SDK's files that are written from the command table are those the table gives now. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, generateFiles } from '../command-generator.ts';

const files = generateFiles();

test.each([...files])('src/sdk/commands/%s is what the command table gives', (name, text) => {
  const path = join(folder, name);
  if (process.env['KVORUM_REWRITE'] === '1') writeFileSync(path, text);
  const remedy =
    'KVORUM_REWRITE=1 npx vitest run test/sdk/commands/generated.test.ts writes it anew';
  expect(readFileSync(path, 'utf8'), remedy).toBe(text);
});

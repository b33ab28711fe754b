import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { placedriverConfigSchema } from '../../../src/placedriver/config.ts';
import { checkToken, judgeToken } from '../../../src/placedriver/http/token.ts';
import { readToken } from '../../../src/placedriver/main.ts';

test('without one configured everybody may write', () => {
  expect(judgeToken(undefined, undefined)).toBeUndefined();
  expect(judgeToken(undefined, 'Bearer whatever')).toBeUndefined();
});

test('only the configured one lets in', () => {
  const statusOf = (header?: string) => judgeToken('correct-horse', header)?.status;
  expect(statusOf('Bearer correct-horse')).toBeUndefined();
  expect(statusOf('bearer  correct-horse ')).toBeUndefined();
  for (const none of [undefined, '', 'correct-horse', 'Basic correct-horse', 'Bearer ']) {
    expect(statusOf(none), none).toBe(401);
  }
  for (const wrong of ['Bearer correct-horsf', 'Bearer correct-hors', 'Bearer correct-horse2']) {
    expect(statusOf(wrong), wrong).toBe(403);
  }
});

test('one that no header can carry is refused at the start', () => {
  expect(checkToken('12345678', 'x')).toBe('12345678');
  for (const bad of ['', '1234567', 'with space', 'ümlaute-sind-schön', 'a\nlong\nlong']) {
    expect(() => checkToken(bad, 'http.token')).toThrow(/^http.token: a token has 8 to 1,024/);
  }
});

test('comes from the configuration or from a file, not from both', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kvorum-token-'));
  try {
    const file = join(folder, 'token');
    writeFileSync(file, '  correct-horse\n');
    expect(await readToken({}, fsDisk)).toBeUndefined();
    expect(await readToken({ token: 'battery-staple' }, fsDisk)).toBe('battery-staple');
    expect(await readToken({ 'token-file': file }, fsDisk)).toBe('correct-horse');
    await expect(readToken({ 'token-file': join(folder, 'no') }, fsDisk)).rejects.toThrow(
      /^http.token-file: ENOENT/,
    );
    writeFileSync(file, 'short');
    await expect(readToken({ 'token-file': file }, fsDisk)).rejects.toThrow(/8 to 1,024/);
  } finally {
    rmSync(folder, { recursive: true });
  }
  const http = { token: 'correct-horse', 'token-file': 'x' };
  const both = { name: 'pd1', 'data-dir': 'd', http, meta: { embedded: { port: 1 } } };
  expect(placedriverConfigSchema.safeParse(both).error?.issues[0]).toMatchObject({
    path: ['http'],
    message: 'takes either token or token-file',
  });
});

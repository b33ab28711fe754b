import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeOwnCertificates, ownFiles } from '../../../src/cli/certificates/own-certificates.ts';

const DAY_MS = 86_400_000;
let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'kvorum-own-'));
});
afterEach(() => rmSync(data, { recursive: true, force: true }));

const read = (name: string) => readFileSync(ownFiles(data, name)['cert-file'], 'latin1');

test('they are made once, for each process, and again when they end within 30 days', () => {
  const now = Date.now();
  makeOwnCertificates(data, ['a', 'b'], now);
  const before = ['ca', 'a', 'b'].map(read);
  const ca = new X509Certificate(before[0]!);
  expect(new X509Certificate(before[1]!).verify(ca.publicKey)).toBe(true);
  expect(statSync(ownFiles(data, 'a')['key-file']).mode & 0o777).toBe(0o600);
  makeOwnCertificates(data, ['a', 'b', 'c'], now + 300 * DAY_MS);
  expect(['ca', 'a', 'b'].map(read)).toEqual(before);
  makeOwnCertificates(data, ['a', 'b', 'c'], now + 340 * DAY_MS);
  expect(read('ca')).toBe(before[0]);
  expect(read('a')).not.toBe(before[1]);
  makeOwnCertificates(data, ['a'], now + 3_630 * DAY_MS);
  expect(read('ca')).not.toBe(before[0]);
  expect(new X509Certificate(read('a')).verify(new X509Certificate(read('ca')).publicKey)).toBe(
    true,
  );
});

import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { initAuthority, issue } from '../../../src/cli/certificates/issue.ts';
import { listens } from './said.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-certificates-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const flags = { host: ['127.0.0.1'], days: 30 };
const modeOf = (name: string) => statSync(join(dir, name)).mode & 0o777;
const subjectOf = (name: string) => new X509Certificate(readFileSync(join(dir, name))).subject;

describe('kvorum certificates', () => {
  const said = listens();

  test('makes an authority, and a pair for a node and for a client', () => {
    initAuthority(dir, { days: 60 });
    issue(dir, 'n1', flags);
    issue(dir, 'app', { host: [], client: true, days: 30 });
    expect(readdirSync(dir)).toEqual([
      'app.crt',
      'app.key',
      'ca.crt',
      'ca.key',
      'n1.crt',
      'n1.key',
    ]);
    expect(['ca.key', 'n1.key', 'app.key'].map(modeOf)).toEqual([0o600, 0o600, 0o600]);
    expect(['n1.crt', 'app.crt'].map(subjectOf)).toEqual(['CN=n1', 'CN=app']);
    expect(said()).toContain('keep it secret');
    expect(said()).toContain('for n1 at 127.0.0.1, 30 days');
    expect(said()).toContain('for client app, 30 days');
  });

  test('writes nothing over, be it the key or the certificate', () => {
    initAuthority(dir, { days: 60 });
    const before = readFileSync(join(dir, 'ca.key'));
    expect(() => initAuthority(dir, { days: 60 })).toThrow(/ca\.key is there already/);
    issue(dir, 'n1', flags);
    rmSync(join(dir, 'n1.key'));
    expect(() => issue(dir, 'n1', flags)).toThrow(/n1\.crt is there already/);
    expect(() => issue(dir, 'ca', flags)).toThrow(/ca\.key is there already/);
    expect(readFileSync(join(dir, 'ca.key'))).toEqual(before);
    expect(readdirSync(dir)).not.toContain('n1.key');
  });

  test.each([
    [/needs --host/, 'n1', { host: [], days: 1 }],
    [/--host ftp:\/\/x/, 'n1', { host: ['ftp://x'], days: 1 }],
    [/--host 10\.1\.0:/, 'n1', { host: ['10.1.0'], days: 1 }],
    [/cannot be a name: letters/, '../n1', flags],
    [/no certificate authority in .*kvorum certificates init/, 'n1', flags],
  ])('%s', (text, name, wanted) => {
    if (!text.source.startsWith('no certificate')) initAuthority(dir, { days: 60 });
    expect(() => issue(dir, name, wanted)).toThrow(text);
    expect(readdirSync(dir)).not.toContain('n1.key');
  });

  test('names of hosts may have a star, and an address may be of either kind', () => {
    initAuthority(dir, { days: 60 });
    issue(dir, 'n1', { host: ['*.db.example.org', 'fe80::1', 'db1'], days: 1 });
    const { subjectAltName } = new X509Certificate(readFileSync(join(dir, 'n1.crt')));
    expect(subjectAltName).toBe('DNS:*.db.example.org, IP Address:FE80:0:0:0:0:0:0:1, DNS:db1');
  });

  test('a directory that cannot be made is named', () => {
    writeFileSync(join(dir, 'file'), '');
    const below = join(dir, 'file', 'ca');
    expect(() => initAuthority(below, { days: 60 })).toThrow(/file.ca.ca\.key cannot be written/);
  });
});

test('the command line takes several hosts, and refuses days that are none', async () => {
  const kvorum = join(import.meta.dirname, '../../../dist/cli/kvorum.js');
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, [kvorum, 'certificates', ...args]);
  await run('init', dir);
  const { stdout } = await run('issue', dir, 'n1', '--host', 'a', '--host', '10.1.0.1');
  expect(stdout).toContain('for n1 at a, 10.1.0.1, 365 days');
  await expect(run('issue', dir, 'n2', '--host', 'a', '--days', '1e3')).rejects.toMatchObject({
    stderr: expect.stringContaining('must be a whole number of days'),
  });
  await expect(run('issue', dir, 'n1', '--client')).rejects.toMatchObject({
    stderr: expect.stringMatching(/^kvorum: .*n1\.key is there already/),
  });
});

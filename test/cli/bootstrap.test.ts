/** `npm start` on a machine where nothing is installed: what it asks npm for. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';

const cli = join(import.meta.dirname, '..', '..', 'src', 'cli');

test('it installs what builds and builds, on a machine that is in production as well', () => {
  const root = mkdtempSync(join(tmpdir(), 'kvorum bootstrap '));
  try {
    cpSync(cli, join(root, 'src', 'cli'), { recursive: true });
    const bin = join(root, 'bin');
    mkdirSync(bin);
    mkdirSync(join(root, 'dist', 'cli'), { recursive: true });
    const asked = join(root, 'asked');
    // stands for npm, and writes down what it is asked for
    writeFileSync(join(bin, 'npm'), `#!/bin/sh\necho "$@" >> "${asked}"\n`);
    chmodSync(join(bin, 'npm'), 0o755);
    writeFileSync(join(root, 'dist', 'cli', 'kvorum.js'), 'console.log(process.argv.slice(2))');
    const env = { PATH: `${bin}${delimiter}${process.env['PATH']}`, NODE_ENV: 'production' };
    const script = join(root, 'src', 'cli', 'bootstrap.mjs');
    const { status, stdout } = spawnSync(process.execPath, [script, '--nodes', '1'], { env });
    expect([status, String(stdout)]).toEqual([0, expect.stringMatching(/'start', '--nodes', '1'/)]);
    expect(readFileSync(asked, 'utf8').trim().split('\n')).toEqual([
      'ci --include=dev --no-audit --no-fund',
      'run --silent build',
    ]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

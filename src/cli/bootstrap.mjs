/**
 * `npm start`: installs the locked dependencies when others are there, builds when the sources are
 * newer than the build, and runs `kvorum start` with the arguments given after `--`.
 * Plain JavaScript: it must run before anything is installed.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBuilt } from './built.mjs';
import { isInstalledAsLocked } from './locked-packages.mjs';
import { refusalOfNode } from './node-version.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const refusal = refusalOfNode(process.versions.node);
if (refusal !== undefined) fail(refusal);

/** Installs and builds as far as needed. */
export function prepare() {
  if (!isInstalledAsLocked(root)) {
    say('installing the locked dependencies …');
    // dev: where NODE_ENV is production npm leaves out what builds
    npm(['ci', '--include=dev', '--no-audit', '--no-fund']);
  }
  if (!isBuilt(root)) {
    say('building …');
    npm(['run', '--silent', 'build']);
  }
}

function npm(args) {
  const command = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) fail(`npm ${args.join(' ')} failed; see above`);
}

function say(line) {
  process.stdout.write(`${line}\n`);
}

function fail(line) {
  process.stderr.write(`kvorum: ${line}\n`);
  process.exit(1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  prepare();
  const kvorum = join(root, 'dist', 'cli', 'kvorum.js');
  process.argv = [process.argv[0], kvorum, 'start', ...process.argv.slice(2)];
  await import(kvorum);
}

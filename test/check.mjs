/**
 * `npm run check`: types, style and the floors of imports, beside each other, each with its time.
 * What did not change since the last run is not looked at again. Plain JavaScript, as test/run.mjs is.
 */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** The scripts of package.json that look at the code without running it. */
const scripts = {
  types: 'typecheck',
  examples: 'typecheck:examples',
  style: 'lint',
  floors: 'floors',
};

/** Runs them all; `started` is given each child. Resolves with how many passed and which failed. */
export async function check(started = () => {}) {
  const names = Object.keys(scripts);
  const verdicts = await Promise.all(names.map((name) => checked(name, scripts[name], started)));
  const failed = names.filter((_, at) => !verdicts[at]);
  return { passed: names.length - failed.length, failed };
}

/** Prints what the script said once it has ended; resolves with whether all was well. */
export function checked(name, script, started = () => {}) {
  const began = Date.now();
  const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    const child = execFile('npm', ['run', '--silent', script], options, (error, stdout, stderr) => {
      const time = `${((Date.now() - began) / 1000).toFixed(1)} s`;
      process.stdout.write(`${stdout}${stderr}${error ? 'FAILED' : 'ok'}  ${name}  ${time}\n`);
      resolve(error === null);
    });
    started(child);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { failed } = await check();
  process.exitCode = failed.length === 0 ? 0 : 1;
}

/** `npm run chaos`: see `--help`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, release, tmpdir, type } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killAll } from '../tools/children.ts';
import { findAbilities, noNamespaces, onPath } from './abilities.ts';
import { help, type Options, parseOptions } from './options.ts';
import { insideDirectory, runInside } from './private-world.ts';
import { page, passed, plotOf, type Setting, summary } from './report.ts';
import { type RunResult, run } from './run.ts';
import { showFindings } from './verdict.ts';

const root = join(fileURLToPath(import.meta.url), '..', '..', '..', '..');
const NOTE = 'KVORUM_CHAOS_NO_NAMESPACES';

// where ip, nft, tc and mount are, whoever asks
process.env['PATH'] = [process.env['PATH'] ?? '', '/usr/sbin', '/sbin'].join(delimiter);

try {
  process.exitCode = await main();
} catch (failure) {
  process.stderr.write(`chaos: ${failure instanceof Error ? failure.message : failure}\n`);
  process.exitCode = 1;
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2), Date.now());
  if (options.help) {
    process.stdout.write(`${help}\n`);
    return 0;
  }
  const inside = insideDirectory();
  return inside === undefined ? outside(options) : within(options, inside);
}

/** Makes the directory, and a world of its own where the machine allows one. */
async function outside(options: Options): Promise<number> {
  if (!onPath('etcd')) throw new Error('etcd not found; install it (Debian: etcd-server)');
  const reason = noNamespaces(options.loopback);
  if (reason !== undefined) {
    process.stdout.write(`without network namespaces: ${reason}\n`);
    process.env[NOTE] = reason;
  }
  // both processes must draw the same
  if (!process.argv.includes('--seed')) process.argv.push('--seed', options.seed);
  const directory = mkdtempSync(join(options.data ?? tmpdir(), 'kvorum-chaos-'));
  const code = await runInside(directory, reason === undefined).catch((failure: unknown) => {
    process.stderr.write(`${failure}\n`);
    return 1;
  });
  if (code === 1) process.stdout.write(`logs and findings are in ${directory}\n`);
  else rmSync(directory, { recursive: true, force: true });
  return code;
}

async function within(options: Options, directory: string): Promise<number> {
  const interrupted = new AbortController();
  process.stdin.on('end', () => interrupted.abort(new Error('interrupted')));
  process.stdin.on('error', () => interrupted.abort(new Error('interrupted')));
  process.stdin.resume();
  process.once('exit', killAll);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  say(`seed ${options.seed}`);
  const abilities = findAbilities(directory, process.env[NOTE]);
  try {
    const result = await run(options, { directory, abilities, signal: interrupted.signal, say });
    say(summary(result));
    await keep(options, directory, result);
    return passed(result) ? 0 : 1;
  } catch (failure) {
    if (!interrupted.signal.aborted) throw failure;
    // the outside may be gone
    rmSync(directory, { recursive: true, force: true });
    say('interrupted; nothing of it is left');
    return 130;
  } finally {
    process.stdin.destroy();
  }
}

async function keep(options: Options, directory: string, result: RunResult): Promise<void> {
  const findings = showFindings(result.verdict);
  if (findings !== '') {
    process.stdout.write(`${findings.slice(0, 20_000)}\n`);
    writeFileSync(join(directory, 'findings.txt'), findings);
  }
  const setting: Setting = {
    ...{ seed: options.seed, seconds: options.seconds, datanodes: options.datanodes },
    ...{ placedrivers: options.placedrivers, etcds: options.etcds, clients: options.clients },
    partitions: options.partitions,
    cpus: availableParallelism(),
    system: `${type()} ${release()}, Node.js ${process.versions.node}`,
    command: `npm run chaos -- --minutes ${options.seconds / 60} --report`,
    date: new Date().toISOString().slice(0, 10),
  };
  if (options.json !== undefined) {
    const { verdict, ...rest } = result;
    const { violations, undecided, anomalies, places, ...figures } = verdict;
    const counts = {
      violations: violations.length,
      undecided: undecided.length,
      anomalies: anomalies.length,
    };
    const told = { ...places, findings: places.findings.length };
    const judged = { ...figures, ...counts, places: told };
    const all = { setting, ...rest, verdict: judged, passed: passed(result) };
    writeFileSync(options.json, `${JSON.stringify(all, null, 2)}\n`);
  }
  if (!options.report) return;
  mkdirSync(join(root, 'docs'), { recursive: true });
  writeFileSync(join(root, 'docs', 'reliability.md'), page(result, setting));
  writeFileSync(join(root, 'docs', 'reliability.svg'), plotOf(result, setting));
  process.stdout.write('docs/reliability.md and docs/reliability.svg are written\n');
}

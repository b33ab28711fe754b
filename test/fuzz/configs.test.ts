/** Configuration files with one thing wrong: a line that names file and field. Bent they are a room. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { kvorum } from '../cluster/cluster.ts';
import { scale } from '../scale.ts';
import { anyJson, type Json, type Path, pathsOf, replacedAt } from './json-mutations.ts';
import { check, checkAsync } from './property.ts';
import { configRefusal } from './rooms/configs.ts';

const runs = scale.fuzzConfigs;

interface Sample {
  readonly file: string;
  readonly role: 'datanode' | 'placedriver';
  readonly text: string;
  readonly value: Json;
}

const samples: readonly Sample[] = ['datanode', 'placedriver', 'placedriver-etcd'].map((name) => {
  const file = `${name}.yaml`;
  const text = readFileSync(join(import.meta.dirname, '../../configs', file), 'utf8');
  const role = name === 'datanode' ? 'datanode' : 'placedriver';
  return { file, role, text, value: parse(text) as Json };
});

/** The refusal, or undefined: it was taken. Anything but a clear refusal fails the test. */
function refusal({ file }: Sample, text: string): string | undefined {
  return configRefusal(
    samples.findIndex((sample) => sample.file === file),
    text,
  );
}

const anySample = fc.constantFrom(...samples);
const withPath = anySample.chain((sample) =>
  fc.tuple(fc.constant(sample), fc.constantFrom<Path>(...pathsOf(sample.value))),
);

/** Never a legal value of any setting. */
const wrongValue: fc.Arbitrary<Json> = fc.constantFrom<Json>(
  ...[-1, 0.5, 1e300, -1e300, 2 ** 53, 100_000_000_000, true, false],
  ...[[], {}, [[]], { a: 1 }, [null], ' ', '\u0000'],
);

describe('a configuration file', () => {
  test('of configs/ is taken as it is', () => {
    for (const sample of samples) expect(refusal(sample, sample.text)).toBeUndefined();
  });

  test('with a wrong value somewhere is refused by the name of the field', () => {
    check(
      runs,
      fc.property(withPath, wrongValue, ([sample, path], wrong) => {
        const field = path.join('.');
        // Any text is a path, any list and map of texts is a list of tags.
        if (/^(?:data-dir|log\.file|run-file|tags)/.test(field) && typeof wrong === 'string')
          return;
        const isEmptyMap = JSON.stringify(wrong) === '{}';
        const text = stringify(replacedAt(sample.value, path, wrong));
        const why = refusal(sample, text);
        if (isEmptyMap && typeOfDefault(field)) {
          expect(why, `${field} {}`).toBeUndefined();
          return;
        }
        expect(why, `${field} ${JSON.stringify(wrong)}`).toBeDefined();
        expect(why).toContain(`${sample.file}: ${field}`);
      }),
    );
  });

  test('with a key that is none is refused by its name', () => {
    const names = fc.stringMatching(/^[a-z]{3,12}x$/);
    const parents = withPath.map(([sample, path]) => [sample, path.slice(0, -1)] as const);
    check(
      runs,
      fc.property(parents, names, anyJson, ([sample, parent], name, value) => {
        if (parent.includes('tags') || parent.includes('endpoints')) return;
        const bent = replacedAt(sample.value, [...parent, name], value);
        expect(refusal(sample, stringify(bent))).toContain(name);
      }),
    );
  });

  test.each([
    ['brackets', '['.repeat(200_000)],
    ['closed brackets', '['.repeat(5_000) + ']'.repeat(5_000)],
    ['maps', '{a: '.repeat(50_000)],
    ['dashes', '- '.repeat(100_000)],
    ['question marks', '? '.repeat(100_000)],
    ['mixed marks', '- ? '.repeat(10_000)],
    ['indented maps', Array.from({ length: 700 }, (_, at) => `${' '.repeat(at)}a:`).join('\n')],
    ['aliases', `a: &a [1]\nb: &b [${'*a,'.repeat(99)}]\nc: [${'*b,'.repeat(99)}]`],
    ['an alias of itself', 'name: &a {b: *a}'],
    ['an alias of nothing', 'name: *nothing'],
  ])('nested by %s is refused and ends nothing', (_name, text) => {
    for (const sample of samples) expect(refusal(sample, text)).toBeDefined();
  });
});

/** What may be an empty map: everything in it has a default. */
function typeOfDefault(field: string): boolean {
  return /^(?:ports|tags|log|limits|placement|timing|default)$/.test(field);
}

let directory: string;
const living = new Set<ChildProcess>();
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'kvorum-configs-'));
});
afterAll(() => {
  for (const child of living) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly errors: string;
}

/** Runs `kvorum <role>` on the text; a process that lives on is killed when the test has met its limit. */
function run(role: Sample['role'], text: string): Promise<Ended> {
  const config = join(directory, 'config.yaml');
  writeFileSync(config, text);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [kvorum, role, '--config', config]);
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    living.add(child);
    child.on('close', (code) => {
      living.delete(child);
      resolve({ code, errors });
    });
  });
}

function expectOneLine({ code, errors }: Ended): void {
  expect(code, errors).toBe(1);
  expect(errors).toMatch(/^kvorum: [^\n]+\n$/);
  expect(errors).not.toMatch(/ at .*:\d+:\d+/);
}

describe('the command', () => {
  test('ends with 1 and one line, without a stack trace', async () => {
    const bad = withPath.chain(([sample, path]) =>
      wrongValue.map((wrong) => ({
        sample,
        text: stringify(replacedAt(sample.value, path, wrong)),
      })),
    );
    const refused = bad.filter(({ sample, text }) => refusal(sample, text) !== undefined);
    await checkAsync(
      scale.fuzzCommands,
      fc.asyncProperty(refused, async ({ sample, text }) => {
        expectOneLine(await run(sample.role, text));
      }),
    );
  });
});

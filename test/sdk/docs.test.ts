/** docs/sdk.md names what there is: members, options, errors, events, changes, examples. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { methodName } from '../../src/sdk/command-methods.ts';
import { ownErrors } from '../../src/sdk/errors.ts';
import { Client } from '../../src/sdk/index.ts';
import { rowsByName } from '../../src/sdk/key-places.ts';

const root = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'sdk.md'), 'utf8');
const textOf = (file: string) => readFileSync(join(root, 'src', 'sdk', file), 'utf8');
const missing = (names: Iterable<string>) =>
  [...names].filter(
    (name) => !new RegExp(`(?<![\\w-])${name.replace('+', '\\+')}(?!\\w)`).test(page),
  );

test('every member of the client that is no command', () => {
  const rows = new Map([...rowsByName].map(([name, row]) => [methodName(name), row]));
  const members = Object.getOwnPropertyNames(Client.prototype).filter((name) => {
    const row = rows.get(name.replace(/Buffer$/, ''));
    return name !== 'constructor' && (row === undefined || row.kind === 'connection');
  });
  expect(members).toContain('watch');
  expect(missing(members)).toEqual([]);
});

test('every option, error, event and change', () => {
  const options = [...textOf('options.ts').matchAll(/^ {2}readonly (\w+)\?: /gm)].map(
    ([, one]) => one!,
  );
  expect(options.length).toBeGreaterThan(15);
  const events = [...textOf('client-events.ts').matchAll(/^ {2}'?([\w+-]+)'?: \[/gm)];
  expect(events.length).toBeGreaterThan(7);
  const kinds = [...textOf('changes.ts').matchAll(/readonly kind: '(\w+)'/g)];
  expect(kinds.length).toBe(6);
  const channels = [...textOf('tracing.ts').matchAll(/hannel(?:<[^>]*>)?\('(kvorum:\w+)'\)/g)];
  expect(channels.length).toBe(4);
  const found = [...events, ...kinds, ...channels].map(([, one]) => one!);
  expect(missing([...options, ...Object.keys(ownErrors), ...found])).toEqual([]);
});

test('the defaults are those of the client', () => {
  for (const [, name, value] of textOf('options.ts').matchAll(/^ {2}(\w+): ([\d_]+),$/gm)) {
    const row = page.split('\n').find((line) => line.includes(`\`${name}\``));
    expect(row, name).toContain(Number(value!.replace('_', '')).toLocaleString('en-US'));
  }
});

test('every example', () => {
  const files = readdirSync(join(root, 'examples')).filter((name) => /\.[cm]js$/.test(name));
  expect(files.filter((name) => !page.includes(`(../examples/${name})`))).toEqual([]);
});

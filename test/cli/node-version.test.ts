/** Both ways into the command end with a sentence where Node.js is too old. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const cli = join(import.meta.dirname, '..', '..', 'src', 'cli');

/** What `node` of that version says when it imports a file of the command line, and how it ends. */
function run(file: string, version: string) {
  const versions = `{value: {...process.versions, node: '${version}'}}`;
  const text =
    `Object.defineProperty(process, 'versions', ${versions});` +
    `await import(${JSON.stringify(file)});`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    encoding: 'utf8',
  });
  return { status, stderr };
}

/** What the first module of the command is built to. */
async function built(): Promise<string> {
  const { ModuleKind, ScriptTarget, transpileModule } = await import('typescript');
  const source = readFileSync(join(cli, 'node-version.ts'), 'utf8');
  const compilerOptions = { module: ModuleKind.ESNext, target: ScriptTarget.ES2022 };
  const { outputText } = transpileModule(source, { compilerOptions });
  return `data:text/javascript,${encodeURIComponent(outputText)}`;
}

test.each([
  ...['18.20.8', '20.18.3', '21.7.3', '22.0.0', '22.11.0'].map((version) => [version, 1] as const),
  ...['20.19.0', '22.12.0', '23.0.0', '24.1.0'].map((version) => [version, 0] as const),
])('Node.js %s: ends with %i', async (version, status) => {
  const said = `kvorum: Node.js ${version} is too old: install 20.19, 22.12 or newer\n`;
  for (const file of [join(cli, 'bootstrap.mjs'), await built()]) {
    expect(run(file, version)).toEqual({ status, stderr: status === 0 ? '' : said });
  }
});

test('the command looks at the version before all else', () => {
  const imports = (file: string) =>
    readFileSync(join(cli, file), 'utf8').match(/^import .*$/gm) ?? [];
  expect(imports('kvorum.ts')[0]).toBe("import './node-version.ts';");
  expect(imports('node-version.ts')).toEqual([]);
});

/**
 * The house's rules that no other tool checks: sizes, what only adapters may call, tests that
 * mirror the source, and words that must not stay. A failure names file, line and what to do.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commandTable } from '../src/datanode/commands/table/table.ts';

const root = join(import.meta.dirname, '..');

/** What suites of `test/foreign` have installed. */
const FOREIGN = /(?:^|[/\\])(?:node_modules|\.venv)[/\\]/;

function filesBelow(folder: string, suffix = '.ts'): string[] {
  const path = join(root, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix) && !FOREIGN.test(name))
    .filter((name) => statSync(join(path, name)).isFile())
    .map((name) => join(folder, name).split(sep).join('/'))
    .sort();
}

const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const sources = filesBelow('src');
const tests = filesBelow('test');
const pages = ['ARCHITECTURE.md', 'README.md', ...filesBelow('docs', '.md')];

interface Ban {
  readonly pattern: RegExp;
  readonly instead: string;
  /** The adapters and doors that may. */
  readonly except: RegExp;
}

const bans: readonly Ban[] = [
  {
    pattern: /\bDate\.now\(|\bnew Date\(|\bperformance\./,
    instead: 'ask the Clock that is handed in',
    except: /^src\/common\/clock\.ts$|^src\/cli\//,
  },
  {
    pattern: /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask)\(/,
    instead: 'use Clock.setTimer or Clock.endOfTurn',
    except:
      /^src\/common\/(?:clock|tcp|tcp-read)\.ts$|^src\/common\/tls\/|^src\/common\/http\/secure-door\.ts$|^src\/cli\//,
  },
  {
    pattern: /\bMath\.random\b|\brandomBytes\b|\brandomUUID\b|\brandomInt\b/,
    instead: 'draw from the Random that is handed in',
    except: /^src\/common\/random\.ts$/,
  },
  {
    pattern: /\.localeCompare\(|\.toLocale[A-Z]\w*\(|\bIntl\./,
    instead: 'compare bytes or code units: each host has its own locale',
    except: /^src\/cli\//,
  },
  {
    pattern: /\bprocess\.(?!ts\b)/,
    instead: 'let the command line hand it in',
    except: /^src\/cli\//,
  },
  {
    pattern: /from 'node:(?:fs|fs\/promises)'/,
    instead: 'use the Disk that is handed in',
    except: /^src\/common\/fs-disk\.ts$|^src\/cli\//,
  },
  {
    pattern: /from 'node:(?:net|http|https|dgram|tls)'/,
    instead: 'use the Network that is handed in',
    except:
      /^src\/common\/tcp(?:-read)?\.ts$|^src\/common\/tls\/|^src\/common\/http\/secure-door\.ts$|^src\/cli\//,
  },
];

/** Source lines without comments. */
function codeLines(file: string): { readonly at: number; readonly text: string }[] {
  const text = textOf(file).replace(/\/\*[\s\S]*?\*\//g, (comment) =>
    comment.replace(/[^\n]/g, ''),
  );
  return text
    .split('\n')
    .map((line, at) => ({ at: at + 1, text: line.replace(/(^|\s)\/\/.*$/, '') }));
}

describe('calls that make a run depend on the machine', () => {
  test.each(bans.map((ban) => [ban.instead, ban] as const))('%s', (_name, ban) => {
    const found = sources
      .filter((file) => !ban.except.test(file))
      .flatMap((file) =>
        codeLines(file)
          .filter(({ text }) => ban.pattern.test(text))
          .map(({ at, text }) => `${file}:${at}: ${text.trim()} – ${ban.instead}`),
      );
    expect(found).toEqual([]);
  });
});

describe('sizes and names', () => {
  test('a source file has at most 400 lines, a test 800', () => {
    const long = [...sources, ...tests].filter((file) => {
      const lines = textOf(file).split('\n').length - 1;
      return lines > (file.startsWith('src/') ? 400 : 800);
    });
    expect(long, 'move a coherent piece into a file of its own').toEqual([]);
  });

  test('file names are in kebab case and say what is inside', () => {
    const vague = /(?:^|\/)(?:utils?|helpers?|misc|managers?|types|index)\.ts$/;
    const bad = [...sources, ...tests].filter(
      (file) =>
        (vague.test(file) && file !== 'src/sdk/index.ts') ||
        !/^(?:[a-z0-9]+(?:[-.][a-z0-9]+)*\/?)+$/.test(file),
    );
    expect(bad).toEqual([]);
  });
});

describe('what must not stay', () => {
  const words: readonly [string, RegExp][] = [
    ['an open end', /\b(?:FIXME|XXX|TODO|HACK)\b/],
    ['a silenced check', /@ts-(?:ignore|nocheck|expect-error)|biome-ignore/],
    ['a path of one machine', /['"` (](?:\/work\/|\/home\/|\/root\/|\/Users\/)/],
  ];
  test.each(words)('%s', (_name, pattern) => {
    const files = [...sources, ...filesBelow('configs', '.yaml'), ...pages];
    const found = files.flatMap((file) =>
      textOf(file)
        .split('\n')
        .flatMap((text, at) => (pattern.test(text) ? [`${file}:${at + 1}: ${text.trim()}`] : [])),
    );
    expect(found).toEqual([]);
  });

  test('a version that floats, or an address of a package registry', () => {
    const { dependencies, devDependencies } = JSON.parse(textOf('package.json')) as Record<
      string,
      Record<string, string>
    >;
    const floating = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^(?:npm:[a-z/@-]+@)?\d+\.\d+\.\d+$/.test(version),
    );
    expect(floating).toEqual([]);
    expect(textOf('package-lock.json')).not.toMatch(/"resolved":/);
  });
});

describe('what comments point to', () => {
  test('decisions that are named are listed in docs/decisions.md', () => {
    const listed = [...textOf('docs/decisions.md').matchAll(/^\| (\d+[a-z]?) \|/gm)].map(
      ([, name]) => name,
    );
    const others = [...filesBelow('bench'), ...filesBelow('chaos'), ...filesBelow('tools')];
    const files = [...sources, ...tests, ...others, ...pages, '.dependency-cruiser.cjs'];
    const named = files.flatMap((file) =>
      [...textOf(file).matchAll(/\bdecision (\d+[a-z]?)/g)].map(([, name]) => ({ file, name })),
    );
    expect(named.filter(({ name }) => !listed.includes(name))).toEqual([]);
    expect(listed.filter((name) => !named.some((one) => one.name === name))).toEqual([]);
  });
});

describe('what pages point to', () => {
  const headings = (page: string) =>
    [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

  test('links lead to a file, and to a heading of it', () => {
    const astray = pages.flatMap((page) =>
      [...textOf(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
        .filter(([, path, heading]) => {
          const target = path === '' ? page : join(dirname(page), path!);
          if (!existsSync(join(root, target))) return true;
          return heading !== undefined && !headings(target).includes(heading);
        })
        .map(([link]) => `${page}: ${link}`),
    );
    expect(astray).toEqual([]);
  });

  test('rooms and files that ARCHITECTURE.md and docs/cluster.md name are there', () => {
    const others = [...filesBelow('bench'), ...filesBelow('test', '.ts')];
    const known = [...sources, ...others].map((file) => `/${file.replace(/\.ts$/, '')}/`);
    const rooms = new Set(sources.flatMap((file) => file.split('/').slice(1, -1)));
    const named = ['ARCHITECTURE.md', 'docs/cluster.md'].flatMap((page) =>
      [...textOf(page).matchAll(/`([a-z]+(?:\/[a-z0-9.-]+)+)`/g)]
        .map(([, name]) => name!.replace(/\.ts$/, ''))
        .filter((name) => rooms.has(name.split('/')[0]!)),
    );
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter((name) => !known.some((file) => file.includes(`/${name}/`)))).toEqual([]);
  });
});

describe('tests mirror the source', () => {
  const suites =
    /^test\/(?:chaos|cluster|conformance|differential|fuzz|linearizability|sim|storage)\//;

  test('a test file lies where what it tests lies', () => {
    const astray = tests
      .filter((file) => file.endsWith('.test.ts') && !suites.test(file))
      .filter((file) => file !== 'test/tidy.test.ts')
      .filter((file) => {
        const mirrored = /^test\/(?:bench|tools)\//.test(file) ? '' : 'src/';
        const source = file.replace(/^test\//, mirrored).replace(/\.test\.ts$/, '.ts');
        return !existsSync(join(root, source)) && !existsSync(join(root, dirname(source)));
      });
    expect(astray).toEqual([]);
  });

  test('every room has tests', () => {
    // transcripts are run by test/datanode/commands/transcripts.test.ts
    const testing = /\.test\.ts$|\.txt$/;
    const rooms = [...new Set(sources.map((file) => dirname(file)))];
    const bare = rooms.filter((room) => {
      const mirror = join(root, room.replace(/^src/, 'test'));
      return !existsSync(mirror) || !readdirSync(mirror).some((name) => testing.test(name));
    });
    const byOthers = ['src', 'src/datanode', 'src/placedriver/http', 'src/datanode/http'];
    expect(bare.filter((room) => !byOthers.includes(room))).toEqual([]);
  });

  test('every command appears in a test of the commands', () => {
    const folder = relative(root, join(root, 'test/datanode/commands'));
    const text = [...filesBelow(folder), ...filesBelow(folder, '.txt')]
      .map((file) => textOf(file).toLowerCase())
      .join('\n');
    const untested = [...commandTable.keys()].filter((name) => {
      return !new RegExp(`(?<![a-z])${name}(?![a-z])`).test(text);
    });
    expect(untested).toEqual([]);
  });
});

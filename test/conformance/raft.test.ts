/**
 * Replays the public data files of etcd-io/raft (RAFT_TESTDATA, default ../shared/raft-testdata
 * beside the project): quorum arithmetic, configuration changes, and whole groups step by step.
 * Every file that is there is replayed. Interaction files must hold in everything but log lines
 * (level L2); how many log lines hold, too (L3), is printed.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { replayConfChange } from './raft/conf-changes.ts';
import { type Case, parseCases } from './raft/datadriven.ts';
import { InteractionGroup } from './raft/interaction.ts';
import { replayQuorum } from './raft/quorums.ts';

const folder = resolve(
  process.env['RAFT_TESTDATA'] ?? join(import.meta.dirname, '../../../shared/raft-testdata'),
);

function filesOf(kind: string): string[] {
  const path = join(folder, kind);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .filter((name) => name.endsWith('.txt'))
    .sort();
}

function casesOf(kind: string, name: string): Case[] {
  return parseCases(readFileSync(join(folder, kind, name), 'utf8'));
}

const present = existsSync(folder);
if (!present) console.log(`raft conformance SKIPPED: there is no data at ${folder}`);

describe.skipIf(!present)('quorum', () => {
  for (const name of filesOf('quorum')) {
    test(`${name} holds`, () => {
      for (const each of casesOf('quorum', name)) {
        expect(replayQuorum(each), `${name}:${each.line}`).toBe(
          each.expected.at(-1)?.replace('<empty majority quorum>', ''),
        );
      }
    });
  }
});

describe.skipIf(!present)('confchange', () => {
  for (const name of filesOf('confchange')) {
    test(`${name} holds`, () => {
      const cases = casesOf('confchange', name);
      const results = replayConfChange(cases);
      for (const [i, each] of cases.entries()) {
        expect(results[i], `${name}:${each.line}`).toEqual(each.expected);
      }
    });
  }
});

describe.skipIf(!present)('interaction', () => {
  let cases = 0;
  let exact = 0;
  for (const name of filesOf('interaction')) {
    test(`${name} holds in everything but log lines`, () => {
      const group = new InteractionGroup({ reads: false });
      for (const each of casesOf('interaction', name)) {
        const actual = group.run(each).split('\n');
        cases++;
        if (actual.join('\n') === each.expected.join('\n')) exact++;
        else if (process.env['RAFT_L3'] !== undefined) {
          expect(actual, `${name}:${each.line}`).toEqual(each.expected);
        }
        expect(withoutLog(actual), `${name}:${each.line}`).toEqual(withoutLog(each.expected));
      }
    });
  }
  afterAll(() => {
    const percent = cases === 0 ? 0 : (100 * exact) / cases;
    console.log(
      `raft conformance: ${exact} of ${cases} interaction cases equal ` +
        `with their log lines, too (L3 ${percent.toFixed(1)} %)`,
    );
  });
});

/**
 * Transcripts of our own, in the same form, for what the public files leave out. RAFT_REWRITE=1
 * writes what happens now into them: read every line of the difference before it is committed.
 */
describe('our own transcripts', () => {
  const own = join(import.meta.dirname, 'raft/testdata');
  for (const name of readdirSync(own).sort()) {
    test(`${name} holds`, () => {
      const text = readFileSync(join(own, name), 'utf8');
      const group = new InteractionGroup({ reads: true });
      const actual = parseCases(text).map((each) => ({ each, output: group.run(each) }));
      if (process.env['RAFT_REWRITE'] === '1') {
        writeFileSync(join(own, name), rewritten(text, actual));
        return;
      }
      for (const { each, output } of actual) {
        expect(output, `${name}:${each.line}`).toBe(each.expected.join('\n'));
      }
    });
  }
});

/** The file's comments and commands with `output` as the expected text of each. */
function rewritten(text: string, actual: readonly { readonly output: string }[]): string {
  const blocks = text.trimEnd().split(/\n\n+(?=#|[a-z-]+(?: |\n))/);
  return `${blocks
    .map((block, at) => `${block.slice(0, block.indexOf('----') + 4)}\n${actual[at]!.output}`)
    .join('\n\n')}\n`;
}

/** Drops log lines, and the `ok` that stands for no output. */
function withoutLog(lines: readonly string[]): string[] {
  const kept = lines.filter((line) => !/^\s*(DEBUG|INFO|WARN|ERROR|FATAL) /.test(line));
  return kept.length === 1 && kept[0] === 'ok' ? [] : kept;
}

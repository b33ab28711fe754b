import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import {
  compileScript,
  knownScript,
  shaOf,
} from '../../../../src/datanode/commands/scripts/compiled.ts';

/** A script of so many bytes, unlike the others. */
function script(at: number, bytes = 0): Buffer {
  return Buffer.from(`return ${at} --`.padEnd(bytes, 'x'));
}

const isKnown = (body: Buffer) => knownScript(shaOf(body)) !== undefined;

test('what was asked for longest ago is forgotten first', () => {
  const bytes = limits.scriptBytesMax;
  const room = limits.scriptsCompiledBytes / bytes;
  const scripts = Array.from({ length: room + 1 }, (_, at) => script(at, bytes));
  for (const body of scripts.slice(0, room)) expect(compileScript(body).ok).toBe(true);
  expect(scripts.slice(0, room).every(isKnown)).toBe(true);
  expect(isKnown(scripts[0]!)).toBe(true);
  compileScript(scripts[room]!);
  expect([isKnown(scripts[1]!), isKnown(scripts[0]!), isKnown(scripts[room]!)]).toEqual([
    false,
    true,
    true,
  ]);
});

test('small ones are not kept in any number', () => {
  const many = 5_000;
  for (let at = 0; at < many; at++) compileScript(script(at));
  expect([isKnown(script(0)), isKnown(script(many - 1))]).toEqual([false, true]);
});

test('what does not compile is not remembered', () => {
  const body = Buffer.from('return (');
  for (let times = 0; times < 2; times++) {
    expect(compileScript(body)).toEqual({
      ok: false,
      message:
        "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
    });
  }
  expect(isKnown(body)).toBe(false);
});

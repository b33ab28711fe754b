/** What a script is charged for is in proportion to what it takes: its bounds are those of the node as well. */
import { beforeEach, expect, test } from 'vitest';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

let partition: LonePartition;
beforeEach(async () => {
  partition = await LonePartition.open();
});

interface Run {
  readonly reply: string;
  readonly cpuMs: number;
}

async function run(script: string): Promise<Run> {
  const before = process.cpuUsage();
  const reply = replyText(await partition.call('EVAL', script, '0'));
  const { user, system } = process.cpuUsage(before);
  return { reply, cpuMs: (user + system) / 1_000 };
}

const STEPS = /^\(error\) ERR the script takes more than \d+ steps/;
const BYTES = /^\(error\) ERR the script makes more than \d+ bytes/;

test('an error reply is trimmed in time of its length', async () => {
  const { reply, cpuMs } = await run(
    `return redis.error_reply('\\n' .. 'E a' .. string.rep('\\n', 100000) .. 'b\\n').err:len()`,
  );
  expect(reply).toBe('(integer) 100004');
  expect(cpuMs).toBeLessThan(2_000);
});

test('arguments of a command that is only asked about are bytes that are made', async () => {
  const { reply } = await run(`
    local s, list = string.rep('x', 8 * 1024 * 1024), {}
    for i = 1, 100 do list[i] = s end
    return redis.acl_check_cmd('get', unpack(list))`);
  expect(reply).toMatch(BYTES);
});

test.each([
  ['of letters', `string.rep('a', 5000000)`],
  ['of sets', `string.rep('[a]', 1000000)`],
])('a long pattern %s takes bytes', async (_what, pattern) => {
  expect((await run(`return string.match('x', ${pattern})`)).reply).toMatch(BYTES);
});

/** Each turn of the loop looks at megabytes: as many turns as steps would take for ever. */
test.each([
  ['of setresp', `s = string.rep('1', 2e6)`, `pcall(redis.setresp, s)`],
  ['of set_repl', `s = string.rep('9', 2e6)`, `pcall(redis.set_repl, s)`],
  ['that struct reads to its end', `s = string.rep('x', 2e7)`, `pcall(struct.unpack, 's', s)`],
  ['of an error', `s = string.rep('x', 2e7)`, `redis.error_reply(s)`],
  ['as a field of a string', `s = string.rep('x', 2e7)`, `local v = s[s]`],
  ['as a key of rawget', `s = string.rep('x', 2e7)`, `rawget(string, s)`],
  ['as a key of next', `s = string.rep('x', 2e7)`, `pcall(next, string, s)`],
])('a long text %s takes steps', async (_what, begin, each) => {
  const script = `local ${begin} for i = 1, 2000 do ${each} end return 'done'`;
  expect((await run(script)).reply).toMatch(STEPS);
});

test('a text is cut before it is looked through', async () => {
  const { reply, cpuMs } = await run(`
    local s = string.rep('x', 1e8)
    for i = 1, 2000 do string.format('%.3s', s) end
    return string.format('%.3s|%.3s|%5.1s', 'abcd', 'a\\0b', 'xyz')`);
  expect(reply).toBe('"abc|a|    x"');
  expect(cpuMs).toBeLessThan(3_000);
});

/** The first and the last of 100,000 have values: a walk passes the others. */
test.each([
  ['maxn', 'table.maxn(t)'],
  ['foreach', 'table.foreach(t, function() end)'],
  ['cjson', 'cjson.encode(t)'],
  ['cmsgpack', 'cmsgpack.pack(t)'],
])('keys without a value that %s passes take steps', async (_what, walk) => {
  const script = `
    local t = {}
    for i = 1, 100000 do t['k' .. i] = 1 end
    for i = 2, 99999 do t['k' .. i] = nil end
    for i = 1, 10000 do ${walk} end
    return 'done'`;
  expect((await run(script)).reply).toMatch(STEPS);
});

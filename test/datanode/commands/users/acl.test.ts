import { expect, test } from 'vitest';
import { FakeNode } from '../fake-node.ts';
import { ask } from '../node-text.ts';

test('ACL DRYRUN looks at the user, then at the command, then at what the user may', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'ACL DRYRUN nobody GET key')).toBe("-ERR User 'nobody' not found\r\n");
  expect(await ask(node, 'ACL SETUSER reader on +get ~a*')).toBe('+OK\r\n');
  expect(await ask(node, 'ACL DRYRUN reader NONSENSE key')).toBe(
    "-ERR Command 'NONSENSE' not found\r\n",
  );
  expect(await ask(node, 'ACL DRYRUN reader GET')).toBe(
    "-ERR wrong number of arguments for 'get' command\r\n",
  );
  expect(await ask(node, 'ACL DRYRUN reader GET abc')).toBe('+OK\r\n');
  expect(await ask(node, 'ACL DRYRUN reader GET other')).toMatch(/^\$.*'other' key/s);
  expect(await ask(node, 'ACL DRYRUN reader SET abc 1')).toMatch(/^\$.*'set' command/s);
});

test('ACL CAT knows its categories and the commands of one', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'ACL CAT')).toContain('\r\nkeyspace\r\n');
  const geo = await ask(node, 'ACL CAT Geo');
  expect(geo).toContain('\r\ngeosearch\r\n');
  expect(geo).not.toContain('\r\nget\r\n');
  expect(await ask(node, 'ACL CAT nonsense')).toBe("-ERR Unknown category 'nonsense'\r\n");
});

test('ACL GENPASS gives a hex digit for every four bits that are begun', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'ACL GENPASS')).toMatch(/^\$64\r\n[0-9a-f]{64}\r\n$/);
  expect(await ask(node, 'ACL GENPASS 5')).toMatch(/^\$2\r\n[0-9a-f]{2}\r\n$/);
  expect(await ask(node, 'ACL GENPASS 0')).toMatch(/a positive number up to 4096/);
  expect(await ask(node, 'ACL GENPASS 4097')).toMatch(/a positive number up to 4096/);
});

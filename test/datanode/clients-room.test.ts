import { expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { type Logger, silentLogger } from '../../src/common/log.ts';
import { assertOpenFiles, ClientsRoom } from '../../src/datanode/clients-room.ts';

function roomOf(openFilesMax: number | undefined, maxclients = 10_000) {
  const told: { text: string; fields: Record<string, unknown> }[] = [];
  const node = { replicas: 8 };
  const logger: Logger = {
    ...silentLogger,
    warn: (text, fields = {}) => told.push({ text, fields: { ...fields } }),
  };
  const options = { openFilesMax, config: { limits: { maxclients } }, logger };
  const room = new ClientsRoom(options, () => node.replicas);
  return { room, node, told };
}

test('what the node opens itself is kept from clients', () => {
  // a fifth for tables, the node's own, and those of eight replicas
  expect(roomOf(256).room.clients).toBe(256 - 52 - 128 - 8 * 6);
  expect(roomOf(20_000).room.clients).toBeGreaterThan(10_000);
  expect(roomOf(undefined).room.clients).toBe(Number.POSITIVE_INFINITY);
});

test('replicas that come take room from clients, but not that of the last few', () => {
  const { room, node } = roomOf(1_024);
  const before = room.clients;
  node.replicas += 10;
  expect(room.clients).toBe(before - 60);
  node.replicas = 1_000;
  expect(room.clients).toBe(limits.clientsLeast);
});

test('a warning says how many are let in, why, and what to do', () => {
  const { room, told } = roomOf(1_024);
  room.look();
  expect(told).toHaveLength(1);
  const { text, fields } = told[0]!;
  expect(text).toMatch(/limit of open files.*limits\.maxclients.*fewer/);
  expect(fields).toMatchObject({ maxclients: 10_000, clients: room.clients, openFilesMax: 1_024 });
  // with what it says there is room
  const files = Number(/raise it to (\d+)/.exec(String(fields['remedy']))?.[1]);
  expect(roomOf(files).room.clients).toBeGreaterThanOrEqual(10_000);
  expect(roomOf(files - 10).room.clients).toBeLessThan(10_000);
});

test('it is said again only when the room has become smaller by a tenth', () => {
  const { room, node, told } = roomOf(1_024);
  room.look();
  node.replicas++;
  room.look();
  expect(told).toHaveLength(1);
  node.replicas += 20;
  room.look();
  expect(told).toHaveLength(2);
});

test('nothing is said where all that are configured have room', () => {
  const { room, told } = roomOf(1_024, 100);
  room.look();
  roomOf(undefined).room.look();
  expect(told).toEqual([]);
});

test('a limit that leaves nothing for clients is refused, with the remedy', () => {
  expect(() => assertOpenFiles(128)).toThrow(/may open 128 files.*needs 256.*ulimit -n/s);
  expect(() => assertOpenFiles(256)).not.toThrow();
  expect(() => assertOpenFiles(undefined)).not.toThrow();
});

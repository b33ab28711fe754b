/** socket.io on two servers, whose rooms reach across through the adapter. */
import { strict as assert } from 'node:assert';
import { createServer } from 'node:http';
import { createAdapter, createShardedAdapter } from '@socket.io/redis-adapter';
import { Cluster, Redis } from 'ioredis';
import { Server } from 'socket.io';
import { io } from 'socket.io-client';
import { attempt, cluster, connect, eventually, gateway } from './place.mjs';

export async function trySockets() {
  await attempt('socket.io adapter, node-redis', () =>
    chats(async () => {
      const clients = [await connect(), await connect()];
      return { adapter: createAdapter(...clients), end: () => closeAll(clients) };
    }),
  );
  await attempt('socket.io adapter, ioredis', () =>
    chats(async () => {
      const clients = [new Redis(gateway), new Redis(gateway)];
      return { adapter: createAdapter(...clients), end: () => quitAll(clients) };
    }),
  );
  await attempt('socket.io sharded adapter, node-redis', () =>
    chats(async () => {
      const clients = [await connect(), await connect()];
      return { adapter: createShardedAdapter(...clients), end: () => closeAll(clients) };
    }),
  );
  if (cluster === undefined) return;
  await attempt('socket.io sharded adapter, ioredis cluster', () =>
    chats(async () => {
      const options = { shardedSubscribers: true };
      const clients = [new Cluster(cluster, options), new Cluster(cluster, options)];
      return { adapter: createShardedAdapter(...clients), end: () => quitAll(clients) };
    }),
  );
}

/** Waits for what the adapters have under way: they unsubscribe without waiting for that. */
async function closeAll(clients) {
  await Promise.all(clients.map((client) => client.close()));
}

async function quitAll(clients) {
  await Promise.all(clients.map((client) => client.quit()));
}

/** A server of its own clients to the cluster. */
async function serve(makeAdapter) {
  const { adapter, end } = await makeAdapter();
  const http = createServer();
  const server = new Server(http, { adapter, transports: ['websocket'] });
  server.on('connection', (socket) => socket.on('join', (room, done) => done(socket.join(room))));
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    server,
    url: `http://127.0.0.1:${http.address().port}`,
    stop: async () => {
      await server.close();
      await end();
    },
  };
}

async function chats(makeAdapter) {
  const servers = [await serve(makeAdapter), await serve(makeAdapter)];
  const [one, other] = servers.map(({ url }) => io(url, { transports: ['websocket'] }));
  try {
    await Promise.all(
      [one, other].map((socket) => new Promise((done) => socket.once('connect', done))),
    );
    await Promise.all(
      [one, other].map((socket) => socket.timeout(10_000).emitWithAck('join', 'room')),
    );
    // Who has subscribed just now may miss what is published at once.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await hearsAll(servers[0].server, [one, other]);
    await asksAll(servers[1].server);
  } finally {
    for (const socket of [one, other]) socket.disconnect();
    for (const { stop } of servers) await stop();
  }
}

/** What one server says in a room all of it hear, in order. */
async function hearsAll(server, sockets) {
  const said = Array.from({ length: 100 }, (_, i) => i);
  const heard = sockets.map(
    (socket) =>
      new Promise((resolve) => {
        const numbers = [];
        socket.on('number', (n, bytes) => {
          numbers.push(bytes === undefined ? n : -1);
          if (numbers.length === said.length) resolve(numbers);
        });
      }),
  );
  for (const n of said) server.to('room').emit('number', n);
  for (const numbers of heard) assert.deepEqual(await numbers, said);
}

/** What needs the answers of all servers. */
async function asksAll(server) {
  assert.equal((await server.in('room').fetchSockets()).length, 2);
  server.in('room').socketsLeave('room');
  // Nobody acknowledges that.
  await eventually(async () => (await server.in('room').fetchSockets()).length === 0);
}

/** express-session in connect-redis: a browser that comes back. */
import { strict as assert } from 'node:assert';
import { RedisStore } from 'connect-redis';
import express from 'express';
import session from 'express-session';
import { attempt, connect, eventually, killDatanode } from './place.mjs';

export async function trySessions() {
  const client = await connect();
  const store = new RedisStore({ client, prefix: 'session:' });
  const app = express();
  const rules = { secret: 'of the suite', resave: false, saveUninitialized: false };
  app.use(session({ store, ...rules, cookie: { maxAge: 60_000 } }));
  app.get('/visit', (request, response) => {
    request.session.visits = (request.session.visits ?? 0) + 1;
    response.send(String(request.session.visits));
  });
  app.get('/leave', (request, response) => request.session.destroy(() => response.send('left')));
  const server = await new Promise((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening));
  });
  const url = `http://127.0.0.1:${server.address().port}`;
  await attempt('connect-redis keeps sessions', () => visits(url));
  await attempt('connect-redis lists and clears', () => lists(store));
  await attempt('connect-redis goes on after a datanode was killed', () => goesOn(url));
  server.close();
  client.destroy();
}

/** Returns a `get` that keeps its cookie. */
function browser(url) {
  const headers = {};
  return async (path) => {
    const response = await fetch(url + path, { headers, signal: AbortSignal.timeout(20_000) });
    const cookie = response.headers.get('set-cookie');
    if (cookie !== null) headers.cookie = cookie.split(';')[0];
    return response.status === 200 ? await response.text() : `status ${response.status}`;
  };
}

async function visits(url) {
  const [get, other] = [browser(url), browser(url)];
  assert.deepEqual(
    [await get('/visit'), await get('/visit'), await other('/visit')],
    ['1', '2', '1'],
  );
  assert.deepEqual([await get('/leave'), await get('/visit')], ['left', '1']);
}

async function lists(store) {
  for (let i = 0; i < 250; i++) await store.set(`s${i}`, { cookie: {}, i });
  assert.equal((await store.all()).filter((one) => one.i !== undefined).length, 250);
  assert.ok((await store.length()) >= 250);
  await store.clear();
  assert.equal(await store.length(), 0);
}

async function goesOn(url) {
  const get = browser(url);
  assert.equal(await get('/visit'), '1');
  killDatanode('datanode1');
  await eventually(async () => Number(await get('/visit')) > 1);
}

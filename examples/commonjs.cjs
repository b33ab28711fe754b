// The same from CommonJS: Node.js 20.19, 22.12 and newer require ES modules.
const assert = require('node:assert/strict');
const { Client } = require('kvorum/sdk');

async function main() {
  const client = new Client(process.env.KVORUM_URL ?? 'kvorum://127.0.0.1:18001/default');
  await client.set('from', 'commonjs');
  assert.equal(await client.get('from'), 'commonjs');
  await client.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

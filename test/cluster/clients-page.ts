/** docs/clients.md, from what the client matrix saw. */
export interface Row {
  readonly event: string;
  readonly name: string;
  readonly door: 'cluster' | 'gateway';
  readonly requests: number;
  readonly errors: readonly string[];
  readonly unknown: readonly string[];
  readonly lost: readonly string[];
}

const HEAD = `# Clients

Unmodified clients while leaders move, measured by \`test/cluster/client-matrix.test.ts\`, which writes
this page when \`KVORUM_CLIENTS_DOC=1\` is set: three datanodes, all clients at once, each with its
default options but for what is named. "Error replies" are what the library or tool showed of errors
that a node answered. "Unknown" are writes answered with \`UNKNOWNOUTCOME\`, which no client without a
session may be. "Lost" are requests without an answer: their connection ended with the node's process,
and the library gave them up instead of sending them again (a tool that ends with its connection counts
once), or it failed by itself: the words in brackets are its own. redis-py 4.3.4 fails by itself with
\`IndexError\` when it follows a MOVED with read_from_replicas (it counts on along the replicas of the
slot's former leader), and with \`cannot pickle\` when it learns the nodes anew and has lost its
connection to one.

A client of the gateway port is connected to the first node; in its rows that node is not restarted.
From npm come ioredis and node-redis, from Debian what its scripting languages at hand have: redis-py
and Perl's Redis.pm. Not run: redis-rb and PhpRedis (Debian's would bring interpreters of 29 and
22 MB), and what needs a compiler or a virtual machine to run (go-redis, jedis, lettuce, hiredis).
`;

export function clientsPage(rows: readonly Row[], tool: string): string {
  const lines = [HEAD, `Tools: ${tool} (and its redis-benchmark). Node.js ${process.version}.`, ''];
  for (const event of new Set(rows.map((row) => row.event))) {
    lines.push(`## ${event[0]!.toUpperCase()}${event.slice(1)}`, '');
    lines.push('| client | port | answered | error replies | unknown | lost |');
    lines.push('|---|---|---|---|---|---|');
    for (const row of rows.filter((one) => one.event === event)) {
      const { name, door, requests, errors, unknown, lost } = row;
      const cells = [name, door, requests, errors.length, unknown.length, lostCell(lost)];
      lines.push(`| ${cells.join(' | ')} |`);
    }
    lines.push('');
  }
  return lines.join('\n');
}

/** With what the library said of them. */
function lostCell(lost: readonly string[]): string {
  const words = [...new Set(lost.map((text) => text.replace(/[|\n]/g, ' ').slice(0, 60)))];
  return lost.length === 0 ? '0' : `${lost.length} (${words.slice(0, 2).join('; ')})`;
}

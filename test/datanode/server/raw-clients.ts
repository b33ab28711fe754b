/** Raw clients that end with their test, and what several tests of doors wait for. */
import { eventually } from '../../cluster/cluster.ts';
import { type Doors, RawClient } from './doors.ts';

export class RawClients {
  readonly all: RawClient[] = [];

  /** To a port, or to a socket file. */
  async open(to: number | string): Promise<RawClient> {
    const client = await RawClient.open(to);
    this.all.push(client);
    return client;
  }

  end(): void {
    for (const client of this.all.splice(0)) client.end();
  }
}

/** Resolves when so many clients of the node wait for an element. */
export async function whenBlocked({ server }: Doors, count: number): Promise<void> {
  await eventually(30_000, `${count} are blocked`, () => server.info().blockedClients === count);
}

/** Which cluster port of this machine has which slot, as a cluster tells it. */
import { SLOT_COUNT } from '../src/common/hash.ts';
import { RespClient } from './resp-client.ts';

/** By slot; throws when a slot has no master. */
export async function slotPorts(port: number): Promise<readonly number[]> {
  const client = await RespClient.open('127.0.0.1', port);
  try {
    const slots = (await client.ask('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
    const ports = new Array<number>(SLOT_COUNT).fill(0);
    for (const [first, last, [, master]] of slots) ports.fill(master, first, last + 1);
    const bare = ports.indexOf(0);
    if (bare >= 0) throw new Error(`slot ${bare} has no master`);
    return ports;
  } finally {
    client.close();
  }
}

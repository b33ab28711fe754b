/** From the words of a request to the partition that answers it, or prepared to be read here. */
import { initialShare } from '../../src/common/hash.ts';
import { MutableRouteTable } from '../../src/datanode/routing/route-table.ts';
import { type DispatchWorld, dispatch } from '../../src/datanode/server/dispatch.ts';
import type { PartitionRecord } from '../../src/meta/schema.ts';
import { keyOf, type Micro, setCommand } from './micro.ts';

const PARTITIONS = 8;
/** Drawn from so many, so that not one key alone is in every cache. */
const KEYS = 1_024;

function world(): DispatchWorld {
  const routes = new MutableRouteTable();
  const replica = { node: 'n1', replica: 1, incarnation: 1 };
  const records = Array.from({ length: PARTITIONS }, (_, partition) => ({
    ...{ version: 1, namespace: 'default', partition, group: partition + 1, epoch: 1, fence: 1 },
    ...initialShare('slots', partition, PARTITIONS),
    ...{ birth: [replica], replicas: [replica] },
  }));
  routes.setPartitions(records as unknown as readonly PartitionRecord[]);
  return {
    routes,
    door: 'cluster',
    namespace: () => 'default',
    valueBytesMax: () => 16 * 1024 * 1024,
    answersHere: () => true,
    refused: () => undefined,
  };
}

function dispatching(name: string, commandOf: (at: number) => Buffer[]): Micro {
  return {
    text: `server: dispatch ${name} (table, checks, slot, partition)`,
    async prepare() {
      const commands = Array.from({ length: KEYS }, (_, at) => commandOf(at));
      const own = world();
      return (wanted) => {
        for (let done = 0; done < wanted; done++) {
          const { kind } = dispatch(commands[done % KEYS]!, own);
          if (kind !== 'one') throw new Error(`${name} was dispatched as ${kind}`);
        }
        return wanted;
      };
    },
  };
}

export const dispatchSet = dispatching('SET', setCommand);
export const dispatchGet = dispatching('GET', (at) => [Buffer.from('GET'), keyOf(at)]);

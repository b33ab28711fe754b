/** The order of test files: those that take longest first, so that the workers end together. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** By the seconds that they take; all others take less, and begin with the largest file. */
const long = [
  ...['cluster/masters', 'cluster/etcd', 'cluster/kill', 'meta/etcd', 'storage/faults'],
  ...['cluster/client-matrix', 'cluster/start', 'cluster/redis-tools', 'cluster/blocking'],
  ...['cluster/three-dcs', 'storage/power', 'cluster/scale', 'meta/embedded/server'],
  ...['storage/flips', 'cluster/behind', 'cluster/heal', 'cluster/pipeline', 'cluster/admin'],
  ...['cluster/demo', 'cluster/rebuild', 'storage/kill', 'cluster/sdk', 'cluster/restore'],
  ...[
    'sim/members',
    'sim/scenarios',
    'datanode/partition/members/lost-quorum',
    'differential/gather',
  ],
].map((name) => `/test/${name}.test.ts`);

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = long.findIndex((name) => moduleId.endsWith(name));
      return at < 0 ? long.length : at;
    };
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}

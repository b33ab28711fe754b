/** What each kind of fault does to the cluster when it begins, and how it ends. */
import { DRIVER, type SimCluster } from './cluster.ts';
import type { DiskOperation } from './disk.ts';
import type { Guest } from './guest.ts';
import type { Machine } from './machine.ts';
import type { Fault, FaultKind } from './plan.ts';
import { rebuildFromLeader } from './rebuild-fault.ts';
import { networkError, type SimEnd } from './sim-stream.ts';
import { isWhole } from './whole.ts';

/** Begins the fault; returns its end, or undefined when it cannot happen now. */
type Injector = (cluster: SimCluster, fault: Fault) => (() => void) | undefined;

export function beginFault(cluster: SimCluster, fault: Fault): (() => void) | undefined {
  return injectors[fault.kind](cluster, fault);
}

const injectors: Record<FaultKind, Injector> = {
  crash(cluster, { draws }) {
    const { name } = nodeOf(cluster, draws[0]!);
    if (cluster.machine(name).life === undefined) return undefined;
    cluster.crash(name, draws[1]! < 0.5 ? 'power' : 'process');
    return () => cluster.start(name);
  },

  crashAll(cluster, { draws }) {
    for (const { name } of cluster.machines) {
      cluster.crash(name, draws[1]! < 0.7 ? 'power' : 'process');
    }
    return () => {
      for (const { name } of cluster.machines) cluster.start(name);
    };
  },

  pause(cluster, { draws }) {
    const { name } = draws[1]! < 0.5 ? leaderNode(cluster, draws[0]!) : nodeOf(cluster, draws[0]!);
    if (cluster.machine(name).paused || cluster.machine(name).life === undefined) return undefined;
    cluster.pause(name);
    return () => cluster.resume(name);
  },

  partition(cluster, { draws }) {
    const names = cluster.machines.map(({ name }) => name);
    const mask = 1 + Math.floor(draws[0]! * (2 ** names.length - 2));
    const side = names.filter((_, at) => (mask >> at) & 1);
    const other = names.filter((name) => !side.includes(name));
    cluster.note(`partition ${side} from ${other}`);
    cluster.network.partition(side, other);
    return () => cluster.network.healAll();
  },

  oneWay(cluster, { draws }) {
    const from = nodeOf(cluster, draws[0]!).name;
    const to = nodeOf(cluster, draws[1]!).name;
    if (from === to) return undefined;
    cluster.note(`nothing passes from ${from} to ${to}`);
    cluster.network.cut(from, to);
    return () => cluster.network.heal(from, to);
  },

  isolateLeader(cluster, { draws }) {
    const { name } = leaderNode(cluster, draws[0]!);
    const rest = cluster.machines.map((machine) => machine.name).filter((other) => other !== name);
    cluster.note(`isolate ${name}, which leads`);
    cluster.network.partition([name], rest);
    return () => cluster.network.healAll();
  },

  reset(cluster, { draws }) {
    const [one, other] = [nodeOf(cluster, draws[0]!).name, nodeOf(cluster, draws[1]!).name];
    cluster.note(`reset ${one} ${other}`);
    cluster.network.reset(one, other);
    return () => {};
  },

  lag(cluster, { draws }) {
    const late = connectionsOf(cluster, draws);
    const byMs = 20 + draws[3]! ** 2 * 2_000;
    if (late.length === 0) return undefined;
    cluster.note(`${late.map(nameOf)} ${byMs.toFixed(0)} ms late`);
    for (const end of late) end.lag(byMs);
    return () => {
      for (const end of late) end.lag(0);
    };
  },

  straggle(cluster, { draws, durationMs }) {
    const late = connectionsOf(cluster, draws);
    if (late.length === 0) return undefined;
    cluster.note(`${late.map(nameOf)} to straggle`);
    for (const end of late) end.lag(durationMs);
    const giveUp = () => {
      cluster.note(`${late.map(nameOf)} given up, what was sent is on its way`);
      for (const end of late) end.linger(networkError('ETIMEDOUT', 'connection timed out'));
    };
    // what was written since the beginning comes when there are new connections
    const given = cluster.scheduler.after(durationMs * draws[3]!, giveUp);
    return () => {
      given.cancel();
      for (const end of late) end.lag(0);
    };
  },

  clockJump(cluster, { draws }) {
    const machine = nodeOf(cluster, draws[0]!);
    const byMs = Math.floor((draws[1]! * 2 - 1) * [100, 1_000, 60_000][Math.floor(draws[2]! * 3)]!);
    cluster.note(`clock of ${machine.name} jumps by ${byMs}`);
    machine.offsetMs += byMs;
    machine.life?.clock.jump(byMs);
    return () => {};
  },

  diskError(cluster, { draws }) {
    const operations: readonly DiskOperation[] = ['pwrite', 'fdatasync', 'open', 'syncDir'];
    const operation = operations[Math.floor(draws[1]! * operations.length)]!;
    const code = draws[2]! < 0.5 ? 'EIO' : 'ENOSPC';
    const machine = nodeOf(cluster, draws[0]!);
    if (machine.life === undefined) return undefined;
    cluster.note(`next ${operation} of ${machine.name}: ${code}`);
    machine.disk.failNext(operation, { code, skip: Math.floor(draws[3]! * 8) });
    return breaking(machine, () => machine.disk.forgetFaults());
  },

  diskFull(cluster, { draws }) {
    const machine = nodeOf(cluster, draws[0]!);
    if (machine.life === undefined) return undefined;
    cluster.note(`disk of ${machine.name} is full`);
    const { disk } = machine;
    disk.fullAfterBytes(disk.usedBytes + Math.floor(draws[1]! * 4_096));
    return breaking(machine, () => disk.fullAfterBytes(Number.POSITIVE_INFINITY));
  },

  diskSlow(cluster, { draws }) {
    const machine = nodeOf(cluster, draws[0]!);
    cluster.note(`disk of ${machine.name} is slow`);
    machine.disk.slow(5 + draws[1]! * 100);
    return () => machine.disk.slow(1);
  },

  bitFlip(cluster, { draws }) {
    const machine = nodeOf(cluster, draws[0]!);
    if (!isWhole(cluster)) return undefined;
    const files = machine.disk
      .files()
      .filter(({ path, size }) => size > 0 && !path.startsWith('/data/quarantine/'));
    const file = files[Math.floor(draws[1]! * files.length)];
    if (file === undefined) return undefined;
    const offset = Math.floor(draws[2]! * file.size);
    // every partition is whole: what was set aside before may go
    machine.disk.discard('/data/quarantine');
    cluster.crash(machine.name, 'process');
    cluster.note(`bit flip on ${machine.name} in ${file.path} at ${offset}`);
    machine.flip(file.path, offset, 1 << Math.floor(draws[3]! * 8));
    return () => cluster.start(machine.name);
  },

  wipe(cluster, { draws }) {
    const machine = nodeOf(cluster, draws[0]!);
    if (!isWhole(cluster)) return undefined;
    cluster.crash(machine.name, 'process');
    cluster.note(`wipe ${machine.name}`);
    machine.wipe();
    cluster.durable.wiped(machine.name);
    return () => cluster.start(machine.name);
  },

  metaDown(cluster) {
    cluster.note('metadata store away');
    cluster.meta.available = false;
    return () => {
      cluster.meta.available = true;
    };
  },

  metaSlow(cluster, { draws }) {
    cluster.note('metadata store slow');
    cluster.meta.latencyMs = 20 + draws[0]! * 400;
    return () => {
      cluster.meta.latencyMs = 1;
      cluster.meta.relist(); // what is still on its way would come after what is newer
    };
  },

  metaCompact(cluster) {
    cluster.meta.relist();
    return () => {};
  },

  loseLease(cluster, { draws }) {
    const machine = nodeOf(cluster, draws[0]!);
    cluster.note(`${machine.name} loses its lease`);
    machine.life?.meta.loseLeases();
    return () => {};
  },

  changeReads(cluster, { draws }) {
    const { operator } = cluster;
    if (operator === undefined) return undefined;
    const reads = draws[0]! < 0.6 ? 'lease' : 'linearizable';
    cluster.note(`reads are to be ${reads}`);
    // there may be no namespace yet, or no master any more
    operator.updateNamespace('default', { reads }).catch(() => {});
    return () => {};
  },

  move(cluster, { draws }) {
    const { operator, machines } = cluster;
    const records = cluster.records();
    const record = records[Math.floor(draws[0]! * records.length)];
    if (operator === undefined || record === undefined || !isWhole(cluster)) return undefined;
    const members = record.replicas.map(({ node }) => node);
    const spare = machines.find(({ name }) => !members.includes(name));
    const from = members[Math.floor(draws[1]! * members.length)];
    if (spare === undefined || from === undefined) return undefined;
    cluster.note(`partition ${record.partition} is to move from ${from} to ${spare.name}`);
    cluster.operatorMoves = true;
    operator.move(record, from, spare.name).catch(() => {});
    return () => {};
  },

  handOver(cluster, { draws }) {
    const leading = cluster.machines.flatMap(({ life, paused }) =>
      paused ? [] : (life?.datanode?.replicas() ?? []).filter(({ isLeader }) => isLeader),
    );
    const replica = leading[Math.floor(draws[0]! * leading.length)];
    if (replica === undefined) return undefined;
    cluster.note(`partition ${replica.record.partition} is to be led by another`);
    replica.handOver();
    return () => {};
  },

  rebuild(cluster) {
    return rebuildFromLeader(cluster);
  },

  metaLate(cluster, { draws }) {
    const leader = leaderNode(cluster, draws[0]!);
    const mask = Math.floor(draws[0]! * 2 ** cluster.machines.length);
    // mostly all but the leader's node: what is decided anew it hears first
    const late = cluster.machines.filter((machine, at) =>
      draws[1]! < 0.7 ? machine !== leader : (mask >> at) & 1,
    );
    const byMs = 50 + draws[2]! * 1_000;
    cluster.note(`${late.map(({ name }) => name)} hear of the store ${byMs} ms later`);
    for (const { life } of late) life?.meta.late(byMs);
    return () => {
      for (const { life } of late) life?.meta.late(0);
    };
  },

  restartOthers(cluster, { draws, durationMs }) {
    const { network, scheduler } = cluster;
    const { name } = leaderNode(cluster, draws[0]!);
    const others = cluster.machines.map((machine) => machine.name).filter((of) => of !== name);
    cluster.note(`${others} restart while ${name}, which leads, stands still`);
    cluster.pause(name);
    network.partition([name], others);
    for (const other of others) {
      cluster.crash(other, 'process');
      cluster.start(other);
    }
    // it goes on, and hears of the others only later
    const resume = scheduler.after(durationMs * 0.7, () => cluster.resume(name));
    return () => {
      resume.cancel();
      cluster.resume(name);
      for (const other of others) {
        network.heal(name, other);
        network.heal(other, name);
      }
    };
  },

  clientCut(cluster, { draws }) {
    const { network } = cluster;
    const { name } = guestOf(cluster, draws[0]!);
    const far = farEnd(cluster, draws[1]!);
    const [there, back] = [draws[2]! < 0.7, draws[2]! > 0.4];
    cluster.note(`cut ${name} ${back ? '<' : ''}-${there ? '>' : ''} ${far}`);
    if (there) network.cut(name, far);
    if (back) network.cut(far, name);
    return () => {
      network.heal(name, far);
      network.heal(far, name);
    };
  },

  clientReset(cluster, { draws }) {
    const { name } = guestOf(cluster, draws[0]!);
    // most calls under way are a leader's
    const far = draws[2]! < 0.7 ? leaderNode(cluster, draws[1]!).name : farEnd(cluster, draws[1]!);
    cluster.note(`reset ${name} ${far}`);
    cluster.network.reset(name, far);
    return () => {};
  },

  clientPause(cluster, { draws }) {
    const guest = guestOf(cluster, draws[0]!);
    if (guest.paused) return undefined;
    cluster.note(`pause ${guest.name}`);
    guest.pause();
    return () => {
      cluster.note(`resume ${guest.name}`);
      guest.resume();
    };
  },

  driverCrash(cluster) {
    cluster.note('placedriver crashes');
    cluster.crashDriver();
    return () => cluster.startDriver();
  },
};

/** Of one node to another: all, or one of them, small or bulk, dialed by either. */
function connectionsOf(cluster: SimCluster, draws: readonly number[]): SimEnd[] {
  const [from, to] = [nodeOf(cluster, draws[0]!).name, nodeOf(cluster, draws[1]!).name];
  if (from === to) return [];
  const ends = cluster.network.endsOf(from, to);
  const part = draws[2]! * 3;
  return part < 1 ? ends : ends.slice(Math.floor(((part - 1) / 2) * ends.length)).slice(0, 1);
}

function nameOf({ node, remote }: SimEnd): string {
  return `${node}>${remote}`;
}

/** While it lasts the machine's process may end by itself. */
function breaking(machine: Machine, end: () => void): () => void {
  machine.diskFaults++;
  machine.diskFaulted = true;
  return () => {
    machine.diskFaults--;
    end();
  };
}

function nodeOf({ machines }: SimCluster, draw: number): Machine {
  return machines[Math.floor(draw * machines.length)]!;
}

function guestOf({ guests }: SimCluster, draw: number): Guest {
  return guests[Math.floor(draw * guests.length)]!;
}

/** What clients of the SDK talk to. */
function farEnd({ machines }: SimCluster, draw: number): string {
  const names = [DRIVER, ...machines.map(({ name }) => name)];
  return names[Math.floor(draw * names.length)]!;
}

/** A node that leads a partition; any node when nobody does. */
function leaderNode(cluster: SimCluster, draw: number): Machine {
  const leading = cluster.machines.filter((machine) =>
    machine.life?.datanode?.replicas().some((replica) => replica.isLeader),
  );
  return leading[Math.floor(draw * leading.length)] ?? nodeOf(cluster, draw);
}

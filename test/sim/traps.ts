/** Real time, randomness and I/O throw inside a simulation: a run must follow from its seed alone. */
import childProcess from 'node:child_process';
import nodeCrypto from 'node:crypto';
import dgram from 'node:dgram';
import dns from 'node:dns';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import tls from 'node:tls';
import workers from 'node:worker_threads';

type Trapped = readonly [holder: object, name: string];

const time: readonly Trapped[] = [
  [Date, 'now'],
  [performance, 'now'],
  ...all(process, ['hrtime', 'uptime', 'cpuUsage', 'resourceUsage']),
  [AbortSignal, 'timeout'],
  ...all(globalThis, ['setTimeout', 'setImmediate']),
  ...all(timers, ['setTimeout', 'setInterval', 'setImmediate']),
  ...all(timersPromises, ['setTimeout', 'setInterval', 'setImmediate']),
  [timersPromises.scheduler, 'wait'],
];

const chance: readonly Trapped[] = [
  [Math, 'random'],
  [crypto, 'getRandomValues'],
  [crypto, 'randomUUID'],
  ...all(nodeCrypto, ['randomBytes', 'randomInt', 'randomUUID', 'randomFill', 'randomFillSync']),
  ...all(nodeCrypto, ['generateKeyPair', 'generateKeyPairSync', 'generateKey', 'generateKeySync']),
  ...all(nodeCrypto, ['generatePrime', 'generatePrimeSync', 'pseudoRandomBytes']),
];

/** What opens a file or a socket, or asks the system about itself. */
const io: readonly Trapped[] = [
  [globalThis, 'fetch'],
  ...all(fs, functionsOf(fs)),
  ...all(fs.promises, functionsOf(fs.promises)),
  ...all(net, ['connect', 'createConnection', 'createServer']),
  [net.Socket.prototype, 'connect'],
  [net.Server.prototype, 'listen'],
  ...all(tls, ['connect', 'createServer']),
  ...all(http, ['request', 'get', 'createServer']),
  ...all(https, ['request', 'get', 'createServer']),
  ...all(http2, ['connect', 'createServer', 'createSecureServer']),
  ...all(dns, functionsOf(dns)),
  ...all(dns.promises, functionsOf(dns.promises)),
  [dgram, 'createSocket'],
  ...all(childProcess, ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync']),
  [childProcess, 'fork'],
  [workers, 'Worker'],
  ...all(os, ['hostname', 'networkInterfaces', 'uptime', 'loadavg', 'freemem']),
];

const trapped: readonly Trapped[] = [...time, ...chance, ...io];

function all(holder: object, names: readonly string[]): Trapped[] {
  return names.map((name) => [holder, name]);
}

/** Classes stay: what makes an instance of them is trapped. */
function functionsOf(holder: object): string[] {
  return Object.entries(holder)
    .filter(([name, value]) => typeof value === 'function' && /^[a-z]/.test(name))
    .map(([name]) => name);
}

/** `new Date()` is now as well. */
class FrozenDate extends Date {
  constructor(...parts: unknown[]) {
    if (parts.length === 0) forbid('new Date()');
    super(...(parts as [number]));
  }
}

/** A function, since some of what is trapped is called with `new`. */
function trapOf(name: string): () => never {
  function trap(): never {
    forbid(name);
  }
  return Object.assign(trap, { bigint: trap });
}

function forbid(name: string): never {
  throw new Error(`${name} inside a simulation: take it from what is handed in`);
}

/** Sets the traps; the returned function takes them away. */
export function setTraps(): () => void {
  const undo = trapped.map(([holder, name]) => {
    const before = Object.getOwnPropertyDescriptor(holder, name);
    Object.defineProperty(holder, name, {
      configurable: true,
      enumerable: before?.enumerable ?? true,
      writable: true,
      value: trapOf(name),
    });
    return () => {
      if (before !== undefined) Object.defineProperty(holder, name, before);
      else delete (holder as Record<string, unknown>)[name];
    };
  });
  // Modules that import a name of these see the trap as well.
  syncBuiltinESMExports();
  const { Date: RealDate, setInterval } = globalThis;
  globalThis.Date = FrozenDate as DateConstructor;
  // redis-parser shrinks its scratch buffer by a timer: nobody can see whether it does
  globalThis.setInterval = (() => 0) as unknown as typeof setInterval;
  return () => {
    globalThis.Date = RealDate;
    globalThis.setInterval = setInterval;
    for (const restore of undo) restore();
    syncBuiltinESMExports();
  };
}

/** The rooms of the engine: whatever takes bytes from outside. */
import type { OpenRoom } from '../engine/room.ts';
import { openConfigs } from './configs.ts';
import { openFrames } from './frames.ts';
import { openHttp } from './http.ts';
import { openMetadata } from './metadata.ts';
import { openRdb } from './rdb.ts';
import { openResp } from './resp.ts';
import { openSegments } from './segments.ts';
import { openSnapshots } from './snapshots.ts';

export const rooms = {
  resp: openResp,
  frames: openFrames,
  segments: openSegments,
  snapshots: openSnapshots,
  metadata: openMetadata,
  configs: openConfigs,
  http: openHttp,
  rdb: openRdb,
} satisfies Readonly<Record<string, OpenRoom>>;

export type RoomName = keyof typeof rooms;

/** When something is to expire, as SET, HSETEX and their like are told. */
import type { Draw, Line } from './draw.ts';

export function deadline(draw: Draw): Line {
  switch (draw.number(0, 3)) {
    case 0:
      return ['EX', draw.seconds()];
    case 1:
      return ['PX', draw.milliseconds()];
    case 2:
      return ['EXAT', draw.atSeconds()];
    default:
      return ['PXAT', draw.atMilliseconds()];
  }
}

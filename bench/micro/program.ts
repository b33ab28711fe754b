/**
 * A program: one room, alone in a process, so that no other has shaped what V8 made of the code.
 * `program.js ROOM seconds N` prints its Slices as JSON; `program.js ROOM commands N` does N commands.
 */
import { roomNames, rooms } from './rooms.ts';
import { measureSlices } from './slices.ts';

const [, , name, unit, amount] = process.argv;
const room = roomNames.find((one) => one === name);
if (room === undefined) throw new Error(`no room ${name}`);
if (unit === 'seconds') {
  const slices = await measureSlices(rooms[room], Number(amount));
  process.stdout.write(`${JSON.stringify(slices)}\n`);
} else {
  const work = await rooms[room].prepare();
  await work(Number(amount));
}
process.exit(0);

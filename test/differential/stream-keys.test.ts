/** What all keys have in common, of streams beside redis-server: also of such as have no entries. */
import fc from 'fast-check';
import { differential, exact, inSeconds, type Step } from './differential.ts';
import { key, member, words } from './words.ts';

const id = fc.nat(5).map((ms) => `${ms}-1`);

/** Who claims is a consumer from then on, as 7.2 has it; with 7.0 only who gets something. */
const claiming = (line: string[]): Step => ({
  words: line,
  order: 'exact',
  before: [['XGROUP', 'CREATECONSUMER', line[1]!, line[2]!, line[3]!]],
});

differential(
  'streams as keys',
  fc.oneof(
    exact(words('XADD', key, id, 'f', member)),
    exact(words('XADD', key, '3-*', 'f', member)),
    exact(words('XDEL', key, id)),
    exact(words('XTRIM', key, 'MAXLEN', '0')),
    exact(words('XGROUP', 'CREATE', key, 'g', '0', 'MKSTREAM')),
    exact(words('XGROUP', 'CREATECONSUMER', key, 'g', 'alice')),
    words('XCLAIM', key, 'g', 'alice', '0', id, 'FORCE', 'JUSTID').map(claiming),
    exact(words('XPENDING', key, 'g')),
    exact(words('XLEN', key)),
    exact(words('XRANGE', key, '-', '+')),
    exact(words('TYPE', key)),
    exact(words('EXISTS', key)),
    exact(words('OBJECT', 'ENCODING', key)),
    exact(words('COPY', key, key)),
    exact(words('COPY', key, key, 'REPLACE')),
    exact(words('RENAME', key, key)),
    exact(words('RENAMENX', key, key)),
    exact(words('EXPIRE', key, '1000')),
    exact(words('PERSIST', key)),
    inSeconds(words('TTL', key)),
    exact(words('SORT', key)),
    exact(words('GET', key)),
    exact(words('SET', key, member)),
    exact(words('DEL', key)),
    exact(words('UNLINK', key)),
    exact(fc.constantFrom(['DBSIZE'], ['KEYS', 'nothing*'])),
  ),
);

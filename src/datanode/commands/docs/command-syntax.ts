/**
 * What follows a command's name, one line a command, in the language of `command-arguments.ts`.
 * A command without a line takes nothing.
 */
import { json } from './json-syntax.ts';

const EXPIRY =
  'EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds';
const COMPARISON = 'IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest';
const ORDER = 'order=[ASC | DESC]';
const WITH = '[WITHCOORD] [WITHDIST] [WITHHASH]';
const UNIT = 'unit=(M | KM | FT | MI)';
const AREA = `from=(FROMMEMBER member | FROMLONLAT longitude latitude)
  by=(BYRADIUS radius ${UNIT} | BYBOX width height ${UNIT}) ${ORDER} [COUNT count [ANY]]`;
const RADIUS = `radius ${UNIT} ${WITH} [COUNT count [ANY]] ${ORDER}`;
const STORE = 'store=[STORE destination | STOREDIST destination]';
const END = 'end=(LEFT | RIGHT)';
const WEIGHTED = 'numkeys key+ [WEIGHTS weight:integer+] aggregate=[AGGREGATE (SUM | MIN | MAX)]';
const SORTING = `key [BY pattern] [LIMIT offset count] [GET pattern]* ${ORDER} [ALPHA]`;
const FIELDS = '(FIELDS numfields field+)';
const WHEN = 'condition=[NX | XX | GT | LT]';
const CLIENTS = 'TYPE (NORMAL | MASTER | REPLICA | PUBSUB)';

const strings = `
append key value
decr key
decrby key decrement
delex key condition=[${COMPARISON}]
digest key
get key
getdel key
getex key expiration=[${EXPIRY} | PERSIST]
getrange key start end
getset key value
incr key
incrby key increment
incrbyfloat key increment:double
lcs key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]
mget key+
mset pair=(key value)+
msetex numkeys data=(key value)+ condition=[NX | XX] expiration=[${EXPIRY} | KEEPTTL]
msetnx pair=(key value)+
psetex key milliseconds value
set key value condition=[NX | XX | ${COMPARISON}] [GET] expiration=[${EXPIRY} | KEEPTTL]
setex key seconds value
setnx key value
setrange key offset value
strlen key
substr key start end
bitcount key range=[start end unit=[BYTE | BIT]]
bitfield key operation=[GET type offset | write=(overflow=[OVERFLOW (WRAP | SAT | FAIL)]
  change=(SET type offset value:integer | INCRBY type offset increment))]*
bitfield_ro key [GET type offset]*
bitop operation=(AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE) destkey key+
bitpos key bit range=[start end-unit=[end unit=[BYTE | BIT]]]
getbit key offset
setbit key offset value:integer
pfadd key [element]*
pfcount key+
pfmerge destkey [sourcekey]*
`;

const lists = `
blmove source destination ${END} ${END} timeout:double
blmpop timeout:double numkeys key+ ${END} [COUNT count]
blpop key+ timeout:double
brpop key+ timeout:double
brpoplpush source destination timeout:double
lindex key index
linsert key where=(BEFORE | AFTER) pivot element
llen key
lmove source destination ${END} ${END}
lmpop numkeys key+ ${END} [COUNT count]
lpop key [count]
lpos key element [RANK rank] [COUNT count] [MAXLEN length]
lpush key element+
lpushx key element+
lrange key start stop
lrem key count element
lset key index element
ltrim key start stop
rpop key [count]
rpoplpush source destination
rpush key element+
rpushx key element+
`;

const hashes = `
hdel key field+
hexists key field
hexpire key seconds ${WHEN} ${FIELDS}
hexpireat key unix-time-seconds ${WHEN} ${FIELDS}
hexpiretime key ${FIELDS}
hget key field
hgetall key
hgetdel key ${FIELDS}
hgetex key expiration=[${EXPIRY} | PERSIST] ${FIELDS}
hincrby key field increment
hincrbyfloat key field increment:double
hkeys key
hlen key
hmget key field+
hmset key pair=(field value)+
hpersist key ${FIELDS}
hpexpire key milliseconds ${WHEN} ${FIELDS}
hpexpireat key unix-time-milliseconds ${WHEN} ${FIELDS}
hpexpiretime key ${FIELDS}
hpttl key ${FIELDS}
hrandfield key options=[count [WITHVALUES]]
hscan key cursor [MATCH pattern] [COUNT count] [NOVALUES]
hset key pair=(field value)+
hsetex key condition=[FNX | FXX] expiration=[${EXPIRY} | KEEPTTL] (FIELDS numfields data=(field value)+)
hsetnx key field value
hstrlen key field
httl key ${FIELDS}
hvals key
`;

const sets = `
sadd key member+
scard key
sdiff key+
sdiffstore destination key+
sinter key+
sintercard numkeys key+ [LIMIT limit]
sinterstore destination key+
sismember key member
smembers key
smismember key member+
smove source destination member
spop key [count]
srandmember key [count]
srem key member+
sscan key cursor [MATCH pattern] [COUNT count]
sunion key+
sunionstore destination key+
`;

const sortedSets = `
bzmpop timeout:double numkeys key+ where=(MIN | MAX) [COUNT count]
bzpopmax key+ timeout:double
bzpopmin key+ timeout:double
zadd key condition=[NX | XX] comparison=[GT | LT] [CH] [INCR] pair=(score member)+
zcard key
zcount key min:double max:double
zdiff numkeys key+ [WITHSCORES]
zdiffstore destination numkeys key+
zincrby key increment member
zinter ${WEIGHTED} [WITHSCORES]
zintercard numkeys key+ [LIMIT limit]
zinterstore destination ${WEIGHTED}
zlexcount key min max
zmpop numkeys key+ where=(MIN | MAX) [COUNT count]
zmscore key member+
zpopmax key [count]
zpopmin key [count]
zrandmember key options=[count [WITHSCORES]]
zrange key start:string stop:string by=[BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]
zrangebylex key min max [LIMIT offset count]
zrangebyscore key min:double max:double [WITHSCORES] [LIMIT offset count]
zrangestore destination source min max by=[BYSCORE | BYLEX] [REV] [LIMIT offset count]
zrank key member [WITHSCORE]
zrem key member+
zremrangebylex key min max
zremrangebyrank key start stop
zremrangebyscore key min:double max:double
zrevrange key start stop [WITHSCORES]
zrevrangebylex key max min [LIMIT offset count]
zrevrangebyscore key max:double min:double [WITHSCORES] [LIMIT offset count]
zrevrank key member [WITHSCORE]
zscan key cursor [MATCH pattern] [COUNT count]
zscore key member
zunion ${WEIGHTED} [WITHSCORES]
zunionstore destination ${WEIGHTED}
geoadd key condition=[NX | XX] [CH] place=(longitude latitude member)+
geodist key member1 member2 unit=[M | KM | FT | MI]
geohash key [member]*
geopos key [member]*
georadius key longitude latitude ${RADIUS} ${STORE}
georadius_ro key longitude latitude ${RADIUS}
georadiusbymember key member ${RADIUS} ${STORE}
georadiusbymember_ro key member ${RADIUS}
geosearch key ${AREA} ${WITH}
geosearchstore destination source ${AREA} [STOREDIST]
`;

const TRIM = `strategy=(MAXLEN | MINID) operator=[equal='=' | approximately='~'] threshold [LIMIT count]`;
const FATE = 'condition=[KEEPREF | DELREF | ACKED]';
const IDS = '(IDS numids id+)';
const LAST_OR_ID = `id-or-new=(id | new-id='$')`;
const READ = `streams=(STREAMS key+ id+)`;

const streams = `
xack key group id+
xackdel key group ${FATE} ${IDS}
xadd key [NOMKSTREAM] ${FATE} trim=[${TRIM}] id-or-auto=(auto-id='*' | id) data=(field value)+
xautoclaim key group consumer min-idle-time start:string [COUNT count] [JUSTID]
xclaim key group consumer min-idle-time id+ [IDLE ms:integer] [TIME unix-time-milliseconds]
  [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]
xdel key id+
xdelex key ${FATE} ${IDS}
xgroup|create key group ${LAST_OR_ID} [MKSTREAM] [ENTRIESREAD entries-read:integer]
xgroup|createconsumer key group consumer
xgroup|delconsumer key group consumer
xgroup|destroy key group
xgroup|setid key group ${LAST_OR_ID} [ENTRIESREAD entries-read:integer]
xinfo|consumers key group
xinfo|groups key
xinfo|stream key full-block=[FULL [COUNT count]]
xlen key
xpending key group filters=[[IDLE min-idle-time:integer] start:string end:string count [consumer]]
xrange key start:string end:string [COUNT count]
xread [COUNT count] [BLOCK milliseconds] ${READ}
xreadgroup group-block=(GROUP group consumer) [COUNT count] [BLOCK milliseconds] [CLAIM min-idle-time:integer] [NOACK] ${READ}
xrevrange key end:string start:string [COUNT count]
xsetid key last-id [ENTRIESADDED entries-added:integer] [MAXDELETEDID max-deleted-id]
xtrim key trim=(${TRIM}) ${FATE}
`;

const keyspace = `
copy source destination [DB destination-db:integer] [REPLACE]
del key+
dump key
exists key+
expire key seconds ${WHEN}
expireat key unix-time-seconds ${WHEN}
expiretime key
keys pattern
move key db:integer
object|encoding key
object|freq key
object|idletime key
object|refcount key
persist key
pexpire key milliseconds ${WHEN}
pexpireat key unix-time-milliseconds ${WHEN}
pexpiretime key
pttl key
rename key newkey
renamenx key newkey
restore key ttl:integer serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]
restore-asking key ttl:integer serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]
scan cursor [MATCH pattern] [COUNT count] [TYPE type]
sort ${SORTING} [STORE destination]
sort_ro ${SORTING}
touch key+
ttl key
type key
unlink key+
wait numreplicas timeout:integer
waitaof numlocal numreplicas timeout:integer
watch key+
`;

const connections = `
auth [username] password
client|caching mode=(YES | NO)
client|kill which=(ip-port | filter=(ID client-id | ${CLIENTS} | USER username | ADDR ip-port |
  LADDR ip-port | SKIPME (YES | NO) | MAXAGE maxage:integer)+)
client|list type=[${CLIENTS}] [ID client-id+]
client|no-evict enabled=(ON | OFF)
client|no-touch enabled=(ON | OFF)
client|pause timeout:integer mode=[WRITE | ALL]
client|reply mode=(ON | OFF | SKIP)
client|setinfo attr=(LIB-NAME libname | LIB-VER libver)
client|setname connection-name
client|maint_notifications status=(ON | OFF) [MOVING-ENDPOINT-TYPE type]
client|tracking status=(ON | OFF) [REDIRECT client-id] [PREFIX prefix]* [BCAST] [OPTIN] [OPTOUT]
  [NOLOOP]
client|unblock client-id type=[TIMEOUT | ERROR]
echo message
hello arguments=[protover [AUTH username password] [SETNAME clientname]]
ping [message]
select index:string
psubscribe pattern+
publish channel message
pubsub|channels [pattern]
pubsub|numsub [channel]*
pubsub|shardchannels [pattern]
pubsub|shardnumsub [shardchannel]*
punsubscribe [pattern]*
spublish shardchannel message
ssubscribe shardchannel+
subscribe channel+
sunsubscribe [shardchannel]*
unsubscribe [channel]*
`;

const server = `
acl|cat [category]
acl|deluser username+
acl|dryrun username command [argument]*
acl|genpass [bits]
acl|getuser username
acl|log operation=[count | RESET]
acl|setuser username [rule]*
cluster|addslots slot+
cluster|addslotsrange range=(start-slot:integer end-slot:integer)+
cluster|count-failure-reports node-id
cluster|countkeysinslot slot:integer
cluster|delslots slot+
cluster|delslotsrange range=(start-slot:integer end-slot:integer)+
cluster|failover options=[FORCE | TAKEOVER]
cluster|forget node-id
cluster|getkeysinslot slot:integer count:integer
cluster|keyslot key:string
cluster|meet ip port [cluster-bus-port:integer]
cluster|replicas node-id
cluster|replicate node-id
cluster|reset mode=[HARD | SOFT]
cluster|set-config-epoch config-epoch:integer
cluster|setslot slot subcommand=(IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE)
cluster|slaves node-id
command|docs [command-name]*
command|getkeys command [argument]*
command|getkeysandflags command [argument]*
command|info [command-name]*
command|list filterby=[FILTERBY (MODULE module-name | ACLCAT category | PATTERN pattern)]
config|get parameter+
config|set data=(parameter value)+
debug|object key
debug|set-active-expire enabled:integer
debug|sleep seconds:double
debug|witness mode=(ON | OFF | TAKE)
flushall type=[ASYNC | SYNC]
flushdb type=[ASYNC | SYNC]
info [section]*
latency|graph event
latency|histogram [command]*
latency|history event
latency|reset [event]*
kv.backup|close id:string
kv.backup|next id:string offset:integer
kv.backup|open partition:integer [LIBRARIES]
kv.once id:string sequence:integer low:integer command [argument]*
kv.session|close id:string key:string
kv.session|open id:string key:string
lolwut [VERSION version:integer]
memory|usage key [SAMPLES count]
psync replicationid:string offset:integer
shutdown save=[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]
bgsave [SCHEDULE]
slowlog|get [count]
swapdb index1:integer index2:integer
`;

const scripting = `
fcall function:string numkeys [key]* [arg]*
fcall_ro function:string numkeys [key]* [arg]*
function|delete library-name:string
function|flush flush-type=[ASYNC | SYNC]
function|list [LIBRARYNAME library-name-pattern:string] [WITHCODE]
function|load [REPLACE] function-code:string
function|restore serialized-value:string policy=[FLUSH | APPEND | REPLACE]
eval script:string numkeys [key]* [arg]*
eval_ro script:string numkeys [key]* [arg]*
evalsha sha1 numkeys [key]* [arg]*
evalsha_ro sha1 numkeys [key]* [arg]*
script|debug mode=(YES | SYNC | NO)
script|exists sha1+
script|flush type=[ASYNC | SYNC]
script|load script:string
`;

const zan = `
delifeq key old
plset data=(key value)+
setifeq key old value [EX seconds]
zan.clear type key+
zan.elements type key cursor:string [REV] [MATCH pattern] [COUNT count]
zan.exists type key+
zan.expire type key seconds
zan.fullscan type table cursor:string [MATCH pattern] [COUNT count]
zan.persist type key
zan.scan type table cursor:string [REV] [MATCH pattern] [COUNT count]
zan.set key value condition=[NX | XX] [EX seconds]
zan.ttl type key
`;

/** Lines that begin with a space go on with the one before. */
const databases = [strings, lists, hashes, sets, sortedSets, streams, json, keyspace];
const families = [...databases, connections, server, scripting, zan];
const lines = families.flatMap((family) => family.trim().replace(/\n +/g, ' ').split('\n'));

/** By the command's name, `config|get` for a subcommand. */
export const syntaxByName: ReadonlyMap<string, string> = new Map(
  lines.map((line) => {
    const end = line.indexOf(' ');
    return [line.slice(0, end), line.slice(end + 1)] as const;
  }),
);

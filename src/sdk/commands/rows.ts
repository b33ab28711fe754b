/**
 * Written from the command table by test/sdk/command-generator.ts. A line is: name · what it does (r
 * reads, w writes, b writes and may wait, n of a node, c of a connection; r/WORD, w/WORD: it may
 * wait if that word is among its options) · where its keys stand (`key-places.ts`).
 */
export const commandRows = `
set w 1:r0,1
setex w 1:r0,1
psetex w 1:r0,1
setnx w 1:r0,1
get r 1:r0,1
getset w 1:r0,1
getdel w 1:r0,1
getex w 1:r0,1
mget r 1:r-1,1
mset w 1:r-1,2
msetnx w 1:r-1,2
msetex w 1:n0,1,2
incr w 1:r0,1
decr w 1:r0,1
incrby w 1:r0,1
decrby w 1:r0,1
incrbyfloat w 1:r0,1
append w 1:r0,1
strlen r 1:r0,1
getrange r 1:r0,1
substr r 1:r0,1
setrange w 1:r0,1
lcs r 1:r1,1
delex w 1:r0,1
digest r 1:r0,1
lpush w 1:r0,1
rpush w 1:r0,1
lpushx w 1:r0,1
rpushx w 1:r0,1
lpop w 1:r0,1
rpop w 1:r0,1
llen r 1:r0,1
lmove w 1:r0,1 2:r0,1
rpoplpush w 1:r0,1 2:r0,1
lmpop w 1:n0,1,1
lindex r 1:r0,1
lrange r 1:r0,1
lset w 1:r0,1
lrem w 1:r0,1
ltrim w 1:r0,1
linsert w 1:r0,1
lpos r 1:r0,1
blpop b 1:r-2,1
brpop b 1:r-2,1
blmove b 1:r0,1 2:r0,1
brpoplpush b 1:r0,1 2:r0,1
blmpop b 2:n0,1,1
hset w 1:r0,1
hmset w 1:r0,1
hsetnx w 1:r0,1
hdel w 1:r0,1
hget r 1:r0,1
hexists r 1:r0,1
hstrlen r 1:r0,1
hmget r 1:r0,1
hlen r 1:r0,1
hkeys r 1:r0,1
hvals r 1:r0,1
hgetall r 1:r0,1
hexpire w 1:r0,1
hpexpire w 1:r0,1
hexpireat w 1:r0,1
hpexpireat w 1:r0,1
hpersist w 1:r0,1
httl r 1:r0,1
hpttl r 1:r0,1
hexpiretime r 1:r0,1
hpexpiretime r 1:r0,1
hincrby w 1:r0,1
hincrbyfloat w 1:r0,1
hrandfield r 1:r0,1
hscan r 1:r0,1
hgetdel w 1:r0,1
hgetex w 1:r0,1
hsetex w 1:r0,1
sadd w 1:r0,1
srem w 1:r0,1
sismember r 1:r0,1
smismember r 1:r0,1
scard r 1:r0,1
smove w 1:r0,1 2:r0,1
smembers r 1:r0,1
srandmember r 1:r0,1
spop w 1:r0,1
sscan r 1:r0,1
sinter r 1:r-1,1
sunion r 1:r-1,1
sdiff r 1:r-1,1
sinterstore w 1:r0,1 2:r-1,1
sunionstore w 1:r0,1 2:r-1,1
sdiffstore w 1:r0,1 2:r-1,1
sintercard r 1:n0,1,1
zadd w 1:r0,1
zincrby w 1:r0,1
zrem w 1:r0,1
zcard r 1:r0,1
zscore r 1:r0,1
zmscore r 1:r0,1
zrank r 1:r0,1
zrevrank r 1:r0,1
zcount r 1:r0,1
zlexcount r 1:r0,1
zrange r 1:r0,1
zrevrange r 1:r0,1
zrangebyscore r 1:r0,1
zrevrangebyscore r 1:r0,1
zrangebylex r 1:r0,1
zrevrangebylex r 1:r0,1
zrangestore w 1:r0,1 2:r0,1
zremrangebyrank w 1:r0,1
zremrangebyscore w 1:r0,1
zremrangebylex w 1:r0,1
zpopmin w 1:r0,1
zpopmax w 1:r0,1
zmpop w 1:n0,1,1
bzpopmin b 1:r-2,1
bzpopmax b 1:r-2,1
bzmpop b 2:n0,1,1
zrandmember r 1:r0,1
zscan r 1:r0,1
zunion r 1:n0,1,1
zinter r 1:n0,1,1
zdiff r 1:n0,1,1
zunionstore w 1:r0,1 2:n0,1,1
zinterstore w 1:r0,1 2:n0,1,1
zdiffstore w 1:r0,1 2:n0,1,1
zintercard r 1:n0,1,1
geoadd w 1:r0,1
geodist r 1:r0,1
geohash r 1:r0,1
geopos r 1:r0,1
geosearch r 1:r0,1
geosearchstore w 1:r0,1 2:r0,1
georadius w 1:r0,1 STORE,6:r0,1 STOREDIST,6:r0,1
georadiusbymember w 1:r0,1 STORE,5:r0,1 STOREDIST,5:r0,1
georadius_ro r 1:r0,1
georadiusbymember_ro r 1:r0,1
json.set w 1:r0,1
json.mset w 1:r-1,3
json.merge w 1:r0,1
json.del w 1:r0,1
json.forget w 1:r0,1
json.clear w 1:r0,1
json.get r 1:r0,1
json.mget r 1:r-2,1
json.type r 1:r0,1
json.resp r 1:r0,1
json.debug r 2:r0,1
json.numincrby w 1:r0,1
json.nummultby w 1:r0,1
json.strappend w 1:r0,1
json.strlen r 1:r0,1
json.toggle w 1:r0,1
json.objkeys r 1:r0,1
json.objlen r 1:r0,1
json.arrappend w 1:r0,1
json.arrinsert w 1:r0,1
json.arrpop w 1:r0,1
json.arrtrim w 1:r0,1
json.arrlen r 1:r0,1
json.arrindex r 1:r0,1
xadd w 1:r0,1
xdel w 1:r0,1
xlen r 1:r0,1
xsetid w 1:r0,1
xtrim w 1:r0,1
xdelex w 1:r0,1
xackdel w 1:r0,1
xrange r 1:r0,1
xrevrange r 1:r0,1
xread r/BLOCK STREAMS<COUNT1,BLOCK1:r-1,1,2
xgroup w 2:r0,1
xreadgroup w/BLOCK STREAMS<GROUP2,COUNT1,BLOCK1,CLAIM1:r-1,1,2
xack w 1:r0,1
xpending r 1:r0,1
xautoclaim w 1:r0,1
xclaim w 1:r0,1
xinfo r 2:r0,1
setbit w 1:r0,1
getbit r 1:r0,1
bitcount r 1:r0,1
bitpos r 1:r0,1
bitop w 2:r0,1 3:r-1,1
bitfield w 1:r0,1
bitfield_ro r 1:r0,1
pfadd w 1:r0,1
pfcount r 1:r-1,1
pfmerge w 1:r0,1 2:r-1,1
pfselftest n
del w 1:r-1,1
unlink w 1:r-1,1
exists r 1:r-1,1
touch r 1:r-1,1
type r 1:r0,1
rename w 1:r0,1 2:r0,1
renamenx w 1:r0,1 2:r0,1
copy w 1:r0,1 2:r0,1
sort w 1:r0,1 STORE,2:r0,1
sort_ro r 1:r0,1
expire w 1:r0,1
pexpire w 1:r0,1
expireat w 1:r0,1
pexpireat w 1:r0,1
persist w 1:r0,1
ttl r 1:r0,1
pttl r 1:r0,1
expiretime r 1:r0,1
pexpiretime r 1:r0,1
dump r 1:r0,1
restore w 1:r0,1
restore-asking c 1:r0,1
object r 2:r0,1
memory r 2:r0,1
scan r
keys r
randomkey r
dbsize r
flushall w
flushdb w
multi c
exec c
discard c
watch c 1:r-1,1
unwatch c
eval w 2:n0,1,1
evalsha w 2:n0,1,1
eval_ro r 2:n0,1,1
evalsha_ro r 2:n0,1,1
script n
fcall w 2:n0,1,1
fcall_ro r 2:n0,1,1
function n
kv.once c
kv.session c 3:r0,1
ping r
echo r
hello c
auth c
select c
quit c
reset c
readonly c
readwrite c
asking c
client n
cluster r
subscribe c
unsubscribe c
psubscribe c
punsubscribe c
ssubscribe c 1:r-1,1
sunsubscribe c 1:r-1,1
publish n
spublish n 1:r0,1
pubsub r
command r
config n
module n
info r
time r
lolwut r
role r
lastsave r
save n
bgsave n
bgrewriteaof n
shutdown n
debug n
latency n
slowlog n
monitor c
kv.backup c
replconf c
sync c
psync c
swapdb n
move n 1:r0,1
wait r
waitaof r
zan.set c 1:r0,1
setifeq w 1:r0,1
delifeq w 1:r0,1
plset w 1:r-1,2
zan.exists c 2:r-1,1
zan.clear c 2:r-1,1
zan.ttl c 2:r0,1
zan.expire c 2:r0,1
zan.persist c 2:r0,1
zan.elements c 2:r0,1
zan.scan c
zan.fullscan c
acl n
`;

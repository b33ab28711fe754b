/**
 * Key specifications by command (`key-specs.ts`). A line is `begin search · find keys · flags`: `index i` or
 * `keyword WORD from`; `range last step limit` or `keynum index first step`.
 */
export const keySpecLines: readonly { readonly specs: readonly string[]; readonly of: string }[] = [
  {
    specs: ['index 1 · range 0 1 0 · RO access'],
    of:
      'bitcount bitfield_ro bitpos digest dump expiretime geodist geohash geopos georadius_ro ' +
      'georadiusbymember_ro geosearch get getbit getrange hexpiretime hget hgetall ' +
      'hkeys hmget hpexpiretime hpttl hrandfield hscan httl hvals lindex lpos lrange ' +
      'pexpiretime pttl smembers smismember srandmember sscan substr ttl zcount ' +
      'zlexcount zmscore zrandmember zrange zrangebylex zrangebyscore zrank zrevrange ' +
      'zrevrangebylex zrevrangebyscore zrevrank zscan zscore xpending xrange xrevrange ' +
      'json.arrindex json.get json.objkeys json.resp',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW update'],
    of:
      'expire expireat geoadd hexpire hexpireat hmset hpersist hpexpire hpexpireat hset hsetex ' +
      'lset persist pexpire pexpireat setrange zadd xack xadd xclaim xsetid json.set json.merge',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access update'],
    of:
      'decr decrby getex getset hgetex hincrby hincrbyfloat incr incrby incrbyfloat move ' +
      'setbit setifeq zincrby json.numincrby json.nummultby json.toggle',
  },
  {
    specs: ['index 1 · range 0 1 0 · RO'],
    of:
      'hexists hlen hstrlen llen scard sismember strlen type zcard xlen ' +
      'json.arrlen json.objlen json.strlen json.type',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW insert'],
    of:
      'append hsetnx linsert lpush lpushx pfadd rpush rpushx sadd ' +
      'json.arrappend json.arrinsert json.strappend',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW delete'],
    of:
      'hdel lrem ltrim srem zrem zremrangebylex zremrangebyrank zremrangebyscore xautoclaim xdel ' +
      'xtrim xdelex xackdel json.arrtrim json.clear json.del json.forget',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access delete'],
    of: 'delifeq getdel hgetdel lpop rpop spop zpopmax zpopmin json.arrpop',
  },
  {
    specs: ['index 2 · range 0 1 0 · RO'],
    of:
      'debug|object memory|usage object|encoding object|freq object|idletime ' + 'object|refcount',
  },
  {
    specs: ['index 2 · range 0 1 0 · RO access'],
    of: 'xinfo|consumers xinfo|groups xinfo|stream json.debug',
  },
  {
    specs: ['index 2 · range 0 1 0 · RW delete'],
    of: 'xgroup|delconsumer xgroup|destroy',
  },
  {
    specs: ['index 2 · range 0 1 0 · RW insert'],
    of: 'xgroup|create xgroup|createconsumer',
  },
  {
    specs: ['index 2 · range 0 1 0 · RW update'],
    of: 'xgroup|setid',
  },
  {
    specs: ['keyword STREAMS 1 · range -1 1 2 · RO access'],
    of: 'xread',
  },
  {
    specs: ['keyword STREAMS 4 · range -1 1 2 · RO access'],
    of: 'xreadgroup',
  },
  {
    specs: ['index 1 · keynum 0 1 1 · RO access'],
    of: 'sintercard zdiff zinter zintercard zunion',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access delete', 'index 2 · range 0 1 0 · RW insert'],
    of: 'blmove brpoplpush lmove rpoplpush smove',
  },
  {
    specs: ['index 2 · keynum 0 1 1 · RW access update'],
    of: 'eval evalsha fcall',
  },
  {
    specs: ['index 2 · keynum 0 1 1 · RO access'],
    of: 'eval_ro evalsha_ro fcall_ro',
  },
  {
    specs: ['index 1 · range -1 1 0 · RO access'],
    of: 'mget sdiff sinter sunion',
  },
  {
    specs: ['index 1 · range -2 1 0 · RW access delete'],
    of: 'blpop brpop bzpopmax bzpopmin',
  },
  {
    specs: ['index 1 · range -2 1 0 · RO access'],
    of: 'json.mget',
  },
  {
    specs: ['index 1 · range -1 3 0 · RW update'],
    of: 'json.mset',
  },
  {
    specs: ['index 1 · range -1 1 0 · RO'],
    of: 'exists touch watch',
  },
  {
    specs: ['index 1 · range 0 1 0 · OW update'],
    of: 'psetex restore restore-asking setex zan.set',
  },
  {
    specs: ['index 1 · range 0 1 0 · OW update', 'index 2 · keynum 0 1 1 · RO access'],
    of: 'zdiffstore zinterstore zunionstore',
  },
  {
    specs: ['index 1 · keynum 0 1 1 · RW access delete'],
    of: 'lmpop zmpop',
  },
  {
    specs: ['index 1 · range -1 1 0 · RM delete'],
    of: 'del unlink',
  },
  {
    specs: ['index 1 · range -1 1 0 · not_key'],
    of: 'ssubscribe sunsubscribe',
  },
  {
    specs: ['index 1 · range 0 1 0 · OW update', 'index 2 · range -1 1 0 · RO access'],
    of: 'sdiffstore sunionstore',
  },
  {
    specs: ['index 1 · range 0 1 0 · OW update', 'index 2 · range 0 1 0 · RO access'],
    of: 'geosearchstore zrangestore',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access update variable_flags'],
    of: 'bitfield set',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW delete variable_flags'],
    of: 'delex',
  },
  {
    specs: ['index 2 · keynum 0 1 1 · RW access delete'],
    of: 'blmpop bzmpop',
  },
  {
    specs: ['index 1 · range -1 1 0 · RW access'],
    of: 'pfcount',
  },
  {
    specs: ['index 2 · range -1 1 0 · RO'],
    of: 'zan.exists',
  },
  {
    specs: ['index 2 · range -1 1 0 · RM delete'],
    of: 'zan.clear',
  },
  {
    specs: ['index 2 · range 0 1 0 · RO access'],
    of: 'zan.ttl zan.elements',
  },
  {
    specs: ['index 2 · range 0 1 0 · RW update'],
    of: 'zan.expire zan.persist',
  },
  {
    specs: ['index 1 · range -1 2 0 · OW insert'],
    of: 'msetnx',
  },
  {
    specs: ['index 1 · range -1 2 0 · OW update'],
    of: 'mset plset',
  },
  {
    specs: ['index 1 · keynum 0 1 2 · OW update'],
    of: 'msetex',
  },
  {
    specs: ['index 1 · range 0 1 0 · OW insert'],
    of: 'setnx',
  },
  {
    specs: ['index 1 · range 0 1 0 · RO access', 'index 2 · range 0 1 0 · OW update'],
    of: 'copy',
  },
  {
    specs: [
      'index 1 · range 0 1 0 · RO access',
      'keyword STORE 5 · range 0 1 0 · OW update',
      'keyword STOREDIST 5 · range 0 1 0 · OW update',
    ],
    of: 'georadiusbymember',
  },
  {
    specs: [
      'index 1 · range 0 1 0 · RO access',
      'keyword STORE 6 · range 0 1 0 · OW update',
      'keyword STOREDIST 6 · range 0 1 0 · OW update',
    ],
    of: 'georadius',
  },
  {
    specs: ['index 1 · range 0 1 0 · RO access', 'unknown · unknown · RO access'],
    of: 'sort_ro',
  },
  {
    specs: [
      'index 1 · range 0 1 0 · RO access',
      'unknown · unknown · RO access',
      'unknown · unknown · OW update',
    ],
    of: 'sort',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access delete', 'index 2 · range 0 1 0 · OW insert'],
    of: 'renamenx',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access delete', 'index 2 · range 0 1 0 · OW update'],
    of: 'rename',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW access insert', 'index 2 · range -1 1 0 · RO access'],
    of: 'pfmerge',
  },
  {
    specs: ['index 1 · range 0 1 0 · RW update', 'index 2 · range -1 1 0 · RO access'],
    of: 'sinterstore',
  },
  {
    specs: ['index 1 · range 0 1 0 · not_key'],
    of: 'spublish',
  },
  {
    specs: ['index 3 · range 0 1 0 · not_key'],
    of: 'kv.session|open kv.session|close',
  },
  {
    specs: ['unknown · unknown · RW access update'],
    of: 'kv.once',
  },
  {
    specs: ['index 1 · range 1 1 0 · RO access'],
    of: 'lcs',
  },
  {
    specs: ['index 2 · range 0 1 0 · OW update', 'index 3 · range -1 1 0 · RO access'],
    of: 'bitop',
  },
];

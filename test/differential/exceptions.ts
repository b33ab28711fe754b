/**
 * Where kvorum means to answer otherwise than redis-server does, and why. The generators of this
 * folder stay clear of these; whoever adds one says here what it is.
 */
export interface Exception {
  readonly commands: string;
  readonly differs: string;
  readonly reason: string;
}

export const exceptions: readonly Exception[] = [
  {
    commands:
      'HEXPIRE and its relatives, HSETEX, HGETEX, HGETDEL, SET IFEQ and its like, DELEX, DIGEST, MSETEX, ' +
      'BITOP DIFF and its like, XDELEX, XACKDEL, JSON.SET and its relatives',
    differs: 'they are there, as in Redis 7.4 to 8.4; INFO tells of 7.4.0',
    reason:
      'a lock without scripts needs them; a client may ask COMMAND for those of 8.0 and later',
  },
  {
    commands: 'EXPIRE, PEXPIRE, SET EX and all that set a deadline',
    differs: 'a deadline beyond 2^53 ms after 1970 (the year 287,396) is cut to that',
    reason: 'times are numbers here and in every record; nobody lives to see the difference',
  },
  {
    commands: 'XREADGROUP, XCLAIM and XAUTOCLAIM that give nothing',
    differs: 'who asks is a consumer of the group from then on, and an event tells of it',
    reason: 'so it is from Redis 7.2 on; 7.0 makes one of who is given something',
  },
  {
    commands: 'XINFO GROUPS and XINFO STREAM FULL, lag',
    differs:
      'of a stream that was emptied or trimmed before a group read it, it is what is left to read',
    reason: 'nearly so it is from 7.4 on; 7.0 counts entries that nobody can read any more',
  },
  {
    commands: 'XSETID below the greatest ID that was deleted, XREAD from +',
    differs: 'the one is refused, the other gives the last entry',
    reason: 'so it is in Redis 7.2 and 7.4',
  },
  {
    commands: 'XREADGROUP BLOCK whose key or group goes',
    differs: 'is told what it would be told if it asked now: NOGROUP or WRONGTYPE',
    reason: 'so it is from 7.2 on; 7.0 has words of its own for both',
  },
  {
    commands: 'XREAD BLOCK of several keys, or of one twice',
    differs: 'who wakes is given what has come to all of them',
    reason: 'so it is from 7.2 on; 7.0 gives what has come to one',
  },
  {
    commands: 'COMMAND GETKEYS of a malformed XREAD or XREADGROUP',
    differs: '7.0 tells half of what stands behind STREAMS, wherever that is; here there are none',
    reason: 'the command is refused: what it would read is nothing',
  },
  {
    commands: 'HELP of ACL, CLIENT and all containers but MEMORY and OBJECT',
    differs: 'the lines are our own',
    reason: 'they tell of the subcommands there are here, and what these do',
  },
  {
    commands: 'CLUSTER COUNTKEYSINSLOT and GETKEYSINSLOT at the gateway, and CLUSTER KEYSLOT',
    differs: 'they are answered, where Redis without a cluster refuses all of CLUSTER',
    reason: 'keys have slots behind the gateway, too; what tells of nodes is refused there',
  },
  {
    commands: 'errors that repeat an argument',
    differs: 'bytes that are not UTF-8 are shown as U+FFFD',
    reason: 'texts of errors are text here; logs and the console show them too',
  },
  {
    commands: 'HGETALL, HKEYS, HVALS, SMEMBERS and their like on small values',
    differs: 'the order is that of hashes; Redis keeps that of insertion in a listpack',
    reason: 'one layout for small and large values; their pages promise no order',
  },
  {
    commands: 'LPOS RANK -9223372036854775808',
    differs: 'refused as out of range; 7.0 answers by a rank that overflowed',
    reason: 'Redis refuses it from 7.2 on, which is the version we say we are',
  },
  {
    commands: 'OBJECT ENCODING of a list',
    differs: 'listpack or quicklist by the bytes of all elements; 7.0 knows quicklist only',
    reason: 'so it is from 7.2 on, but for short quicklists of several nodes: we keep no nodes',
  },
  {
    commands: 'SORT after a SORT that met a number out of range (1e400)',
    differs: 'redis-server goes on refusing scores that it has to parse; we refuse that one',
    reason: 'it looks at an error number that nobody has reset: no reply to imitate',
  },
  {
    commands: 'SORT BY pattern ALPHA LIMIT where weights are equal or absent',
    differs: 'equal ones keep their order here',
    reason: 'Redis sorts with an algorithm that leaves their order open',
  },
  {
    commands: 'SORT ALPHA without STORE',
    differs: 'bytes are compared; redis-server compares by its locale, and up to a zero byte',
    reason: 'replicas on differently configured hosts must agree',
  },
  {
    commands: 'OBJECT ENCODING of a set with a member that is no integer',
    differs: 'listpack while the set is small, where Redis 7.0 says hashtable',
    reason: 'Redis 7.2, whose version INFO tells, has that encoding',
  },
  {
    commands: 'SCAN, HSCAN, SSCAN, ZSCAN of a hashtable with a cursor other than 0',
    differs: 'cursors are positions in the order of our hash',
    reason: 'a cursor means something only to the server that gave it',
  },
  {
    commands: 'HRANDFIELD, SRANDMEMBER with a negative count',
    differs: 'an error below −10,000,000, and where the reply would exceed the output bound',
    reason: 'Redis builds such a reply until its memory ends',
  },
  {
    commands: 'all that answer a score',
    differs: 'scores have the fewest digits that read back: 0.1, not 0.10000000000000001',
    reason: 'as Redis prints them from 7.2 on, which kvorum says it is; 7.0 has 17 digits',
  },
  {
    commands: 'ZRANK, ZREVRANK',
    differs: 'they take WITHSCORE',
    reason: 'as Redis does from 7.2 on',
  },
  {
    commands: 'ZRANGEBYLEX, ZLEXCOUNT, ZREMRANGEBYLEX and all ranges of members',
    differs: 'where scores differ in a skiplist, what is in the range',
    reason: 'undefined by its page, and random in Redis; here it is what a listpack gives',
  },
  {
    commands: 'ZRANDMEMBER',
    differs: 'more than 10,000,000 members with repeats are refused as out of range',
    reason: 'the reply is built in memory, which is bounded',
  },
  {
    commands: 'BITCOUNT, BITPOS',
    differs: 'wrong arguments are refused also when the key is not there',
    reason: 'as Redis does from 7.2 on, which kvorum says it is',
  },
  {
    commands: 'SETBIT, BITFIELD',
    differs: 'a string cannot grow beyond value-bytes-max, 16 MiB by default (Redis: 512 MB)',
    reason: 'a value has to fit a log entry; APPEND and SETRANGE refuse the same way',
  },
  {
    commands: 'PFCOUNT',
    differs:
      'the cardinality it counted is not written into the sketch, whose bytes 8 to 15 GET shows, and its encoding does not become raw',
    reason: 'a read is not a log entry; counting takes less time than one',
  },
  {
    commands: 'PFADD of several elements, PFMERGE',
    differs: 'when the sketch turns out to be corrupt, none of the elements is in it (Redis: some)',
    reason: 'a write that fails leaves nothing behind',
  },
  {
    commands: 'PFADD',
    differs: 'a sparse sketch that ends within a run of two bytes is corrupt',
    reason: 'Redis reads and writes behind the end of its string there',
  },
  {
    commands: 'RESTORE',
    differs:
      'a small hash with a field twice, a packed form that is not sound as a whole, and bytes behind the value are bad data',
    reason:
      'Redis checks that only with sanitize-dump-payload; unsound elements cannot be stored here',
  },
  {
    commands: 'RESTORE',
    differs:
      'a value beyond 60 MiB or 1,048,576 elements is refused, payloads of versions 11 and 12 are taken',
    reason: 'no other request may carry more either; these versions are those of Redis 7.2 and 7.4',
  },
  {
    commands: 'DUMP',
    differs: 'the bytes: version 9, types 0, 1, 2, 4 and 5, neither compressed nor integer-encoded',
    reason: 'any Redis from 5.0 on restores them',
  },
  {
    commands: 'DUMP of a stream',
    differs: 'the bytes: version 9 and type 19, without what was removed, not compressed',
    reason: 'Redis 7.0 and every later one restore them',
  },
  {
    commands: 'RESTORE of a stream',
    differs:
      'entries out of order or behind the last ID, and what is pending for nobody, are bad data',
    reason: 'such streams cannot be stored here; Redis writes none',
  },
  {
    commands: 'DUMP of a hash whose fields have deadlines',
    differs: 'the bytes: version 12 and type 24 whatever its size, as Redis writes it from 7.4 on',
    reason: 'no older Redis has deadlines of fields',
  },
  {
    commands: 'OBJECT REFCOUNT',
    differs: 'the copy that COPY makes of an integer below 10,000 counts as shared (Redis: 1)',
    reason: 'nothing is shared here: the number only tells what Redis would share when it is set',
  },
  {
    commands: 'OBJECT IDLETIME',
    differs: 'it is 0, whatever RESTORE IDLETIME said',
    reason: 'reads write nothing here, so nobody knows when a key was last read',
  },
  {
    commands: 'FLUSHALL',
    differs: 'it clears the selected namespace; redis-server clears all its databases',
    reason: 'namespaces have users of their own, who may not see each other',
  },
  {
    commands: 'SELECT of another namespace between MULTI and EXEC, or after WATCH',
    differs: 'refused, and the transaction with it',
    reason: 'a transaction is one entry of one partition, and a partition is of one namespace',
  },
  {
    commands: 'WATCH of a string that SETBIT or BITFIELD leaves as it is',
    differs:
      'the first of them after SET, and a BITFIELD that only makes it longer, break the watch',
    reason: 'what becomes of the value is in its record: the encoding, and every byte of it',
  },
  {
    commands: 'ACL SETUSER of a name that is empty, beyond ASCII or longer than 128 characters',
    differs: 'refused, with an error that says which names there are',
    reason: 'names are part of keys and of logs, and the empty one is that of who has not said who',
  },
  {
    commands: 'ACL SETUSER %RW~*, or %R~* and %W~*',
    differs: 'that is ~*, behind which no pattern may be added; Redis keeps a pattern of its own',
    reason: 'Redis shows it as ~* as well, and would not take back what it shows',
  },
  {
    commands: 'rules of users about DEBUG',
    differs:
      'debug|object and its like are subcommands, which may be taken away and name their key',
    reason: 'DEBUG is a container here; in 7.0 its first arguments can only be allowed',
  },
  {
    commands: 'ACL LIST, ACL GETUSER',
    differs:
      'rules of commands are shown as they were given, the last of each; neither sanitize-payload nor skip-sanitize-payload is a flag',
    reason: 'rules are kept so from 7.2 on; every payload is checked here, whoever sends it',
  },
  {
    commands: 'COPY DB n, MOVE, SWAPDB',
    differs:
      'DB other than 0 is out of range, and any is refused in another namespace than `default`; the other two say why they are refused',
    reason: 'namespaces have partitions of their own, and nothing is atomic over partitions',
  },
  {
    commands: 'SELECT of what is no number',
    differs: 'it is the name of a namespace, and out of range when there is none',
    reason: 'namespaces have names',
  },
  {
    commands: 'CONFIG SET notify-keyspace-events m',
    differs: 'the class is accepted and shown; misses of keys are not told',
    reason: 'events are published by the leader after apply, and a read is not applied',
  },
  {
    commands: 'HELLO with SETNAME and then a wrong option',
    differs: 'nothing is set',
    reason: 'as Redis does from 7.2 on',
  },
  {
    commands: 'DEBUG, but for SLEEP, OBJECT and SET-ACTIVE-EXPIRE; SAVE, BGSAVE, BGREWRITEAOF',
    differs: 'DEBUG is refused as an unknown subcommand; the others are done at once',
    reason: 'others could hold or hurt other clients; every write is on disks when it is answered',
  },
  {
    commands: 'SLOWLOG and LATENCY of what ran in a transaction',
    differs: 'EXEC with the time of all its commands; Redis tells each of them, and no EXEC',
    reason: 'they are one entry of a log, and nobody knows how long one of them took',
  },
  {
    commands: 'KEYS, PSUBSCRIBE and all with a pattern of several stars and nothing else (**)',
    differs: 'the empty name fits as well; in Redis it fits a single star alone',
    reason: 'stars in a row are one here, also where there is nothing for them to stand for',
  },
  {
    commands: 'KEYS, SCAN MATCH, PSUBSCRIBE and all with a pattern of more than 65,536 bytes',
    differs: 'refused, with an error that names both lengths',
    reason: 'a pattern is compiled, and an object is made of each of its bytes',
  },
  {
    commands:
      'all with the name of a key beyond 512 KiB, of a channel beyond 64, of a client beyond 1',
    differs: 'refused, with an error that names both lengths',
    reason: 'names are kept in memory beside what they name, and told to other nodes',
  },
  {
    commands: 'PUBLISH of a RESP3 client to a channel of its own',
    differs: 'the message comes behind the reply, and behind that of EXEC; in 7.0 before it',
    reason: 'as Redis does from 7.2 on',
  },
  {
    commands: 'CLIENT LIST, CLIENT INFO',
    differs:
      'there is no flag d: that a watch is broken; LIST ID has each client once, by age, not in the order of the request',
    reason: 'watches are looked at where the key is led, at EXEC; ids choose lines of one list',
  },
  {
    commands: 'CLIENT LIST, INFO',
    differs:
      'a key that a client has named twice to WATCH counts twice, and in total_watched_keys for each client; keys ' +
      'of a blocking command with more than 2,048 are counted without being told apart',
    reason: 'what is watched and waited for is known where the key is led; here it is only counted',
  },
  {
    commands: 'CLIENT LIST, CLIENT KILL, CLIENT UNBLOCK',
    differs: 'they tell of clients of the node that is asked and reach no others',
    reason: 'as in Redis Cluster: who is connected is known, and ended, where it is',
  },
  {
    commands: 'CLIENT TRACKING ON',
    differs:
      'invalidations come a moment after the write; of a script all keys it names are tracked; in BCAST mode ' +
      'FLUSHALL is told once per partition; NOLOOP tells of what shared an entry with others',
    reason:
      'changes are told by the leaders of partitions, to the node that the client is connected to',
  },
  {
    commands: 'MONITOR of a client that monitors',
    differs: 'OK again, where Redis answers nothing',
    reason: 'every request has a reply',
  },
  {
    commands: 'CLUSTER MEET, FORGET, ADDSLOTS, SETSLOT and all that change a cluster',
    differs: 'refused on the cluster port, whatever their arguments, with a word about who does it',
    reason: 'the placedriver places partitions',
  },
  {
    commands: 'commands with keys of several slots, on the cluster port',
    differs: 'carried out where one partition has all of them',
    reason: 'what is atomic is the partition; a cluster’s client does not send such commands',
  },
  {
    commands: 'CONFIG SET of what only answers: save, appendonly, maxmemory, timeout, port',
    differs: 'refused as immutable; Redis sets them, or tells what is wrong with the value',
    reason: 'they say what is true of kvorum; its settings are in the configuration file',
  },
  {
    commands: 'CONFIG GET, INFO',
    differs: 'there is nothing of allocator, forks, scripts and replication backlog',
    reason: 'kvorum has none of them, and a made-up number would mislead who watches it',
  },
  {
    commands: 'keyspace_hits and keyspace_misses of INFO',
    differs: 'reads count; GETEX, GETDEL, GETSET, SET GET, COPY and SORT, which may write, do not',
    reason: 'writes are applied on every replica alike, apart from who counts for clients',
  },
  {
    commands: 'COMMAND INFO, COMMAND DOCS',
    differs: 'key specifications have no notes; summaries are those of 7.2, without complexities',
    reason: 'clients go by flags and positions; people read redis.io',
  },
  {
    commands: 'WAIT',
    differs:
      'it never waits, and tells of the other replicas of a quorum, however many are asked for',
    reason: 'a write is answered once a quorum has it on disk',
  },
  {
    commands: 'DBSIZE behind SET EXAT or PXAT of a time that has passed',
    differs: 'the key is gone at once; Redis counts it until somebody comes upon it',
    reason: 'what has expired is never seen here',
  },
  {
    commands: 'AUTH and HELLO AUTH between MULTI and EXEC',
    differs: 'what is queued behind them runs by the rights of who sent EXEC, not of the new user',
    reason: 'data is one entry of the log, made before; who may not send a command cannot queue it',
  },
  {
    commands: 'CLIENT REPLY OFF or SKIP between MULTI and EXEC',
    differs: 'it holds from the command behind EXEC on, whose own reply comes',
    reason: 'Redis keeps the half-made reply of EXEC and sends it with the next',
  },
  {
    commands: 'SORT STORE, ZUNIONSTORE and all that store over a key of another type',
    differs: 'clients that wait there for what the key has become are served',
    reason: 'redis-server leaves them blocked beside it until the key is made anew',
  },
  {
    commands: 'BLPOP and all that block',
    differs: 'a timeout beyond 2^63 ms, and inf, is out of range; 7.0 says that it is negative',
    reason: 'its number overflows there, which 7.2 mends',
  },
  {
    commands:
      'MULTI of what expires while it runs (DEBUG SLEEP in it), and clients that wait for it',
    differs: 'they are served: nothing expires within a transaction; in Redis they wait on',
    reason: 'an entry of the log has one time, and serves whom it has something for',
  },
  {
    commands: 'INFO commandstats of a wait that CLIENT UNBLOCK ended without ERROR',
    differs: 'it has not failed; 7.0 counts it in failed_calls',
    reason: 'as Redis does from 7.2 on',
  },
  {
    commands: 'HSCAN',
    differs: 'it takes NOVALUES',
    reason: 'as Redis does from 7.4 on; clients that know it ask for it',
  },
  {
    commands: 'CONFIG SET of hash-max-listpack-entries and the other sizes of encodings',
    differs: 'refused as immutable',
    reason: 'there is one layout for small and large values; OBJECT ENCODING goes by the defaults',
  },
  {
    commands: 'CONFIG GET databases',
    differs: '1, where redis-server has 16',
    reason: 'SELECT n is the namespace db<n>, if somebody has made it',
  },
  {
    commands: 'SORT with BY or GET patterns in a namespace of several partitions',
    differs: 'refused',
    reason: 'as in Redis Cluster: the keys they name may be anywhere',
  },
  {
    commands:
      'DBSIZE, KEYS, SCAN, RANDOMKEY, FLUSHALL in MULTI, in a namespace of several partitions',
    differs: 'refused with CROSSSLOT, and EXEC with them',
    reason: 'a transaction is one entry of one partition’s log',
  },
  {
    commands: 'any with more than 1,048,576 arguments',
    differs: 'a protocol error',
    reason: 'what a request may take of a node’s memory is bounded',
  },
  {
    commands: 'ACL GETUSER and ACL LIST after rules that take back a part of @all',
    differs: 'rules are kept as they were given',
    reason: 'as Redis does from 7.2 on; 7.0 makes categories and single commands of them',
  },
  {
    commands: 'HELLO of a client that has not said who it is',
    differs: 'the error names HELLO <proto> AUTH',
    reason: 'as Redis does from 7.2 on',
  },
  {
    commands: 'HELLO with several AUTH, one of them wrong',
    differs: 'the last one decides',
    reason: 'as Redis does from 7.2 on; 7.0 tries each',
  },
  {
    commands: 'SLOWLOG and LATENCY of BLPOP and all that may block',
    differs: 'they are not told; Redis tells how long they took beside their wait',
    reason: 'the element comes with the entry that brought it: nobody knows what was its share',
  },
  {
    commands: 'SLOWLOG of MULTI, and of what is queued',
    differs: 'they are not told, even if slowlog-log-slower-than is 0',
    reason: 'they are answered as they come, and take no time worth a line',
  },
  {
    commands: 'BLPOP and all that block, of a user who may not do that any more',
    differs: 'who waited before is served, as in 7.0; 7.2 answers NOPERM',
    reason: 'rights are asked when a command comes, and it is the leader of the key that serves it',
  },
  {
    commands: 'CONFIG SET of a number that is out of range',
    differs: 'the range told is kvorum’s: slowlog-max-len to 10,000, acllog-max-len to 1,024',
    reason: 'what a node keeps in memory is bounded',
  },
  {
    commands: 'SHUTDOWN',
    differs: 'refused, whatever their arguments, with a word about what to do',
    reason: 'who may stop a process is not for clients to say: its supervisor would start it again',
  },
  {
    commands: 'those of functions, replication and MIGRATE, also to ACL DRYRUN and COMMAND',
    differs: "they are unknown commands; users' rules may name them",
    reason: 'there are none here, and raft replicates',
  },
  {
    commands: 'SPUBLISH in MULTI beside a key of another slot, on the cluster port',
    differs: 'carried out, where Redis answers EXEC with CROSSSLOT',
    reason: 'a message is no part of a partition’s entry',
  },
  {
    commands: 'MULTI on the follower-read port behind READONLY',
    differs: 'what is queued is MOVED, reads as well, and so are SPUBLISH and SSUBSCRIBE',
    reason: 'a transaction is an entry of the leader’s log; shard channels belong to the leader',
  },
  {
    commands: 'EVAL: a script that raises a table without `err`, or rep of a string to a gigabyte',
    differs: 'it is an error, or the end of the script by its limits',
    reason: 'redis-server 7.0.15 crashes of the first and stands still for the other',
  },
  {
    commands: 'EVAL: math.random and settings of cjson before a script has set them',
    differs: 'the first begin where the entry has drawn, the others are as new in every run',
    reason: 'Redis 7.0 lets them outlive a run; replicas have run different scripts before',
  },
  {
    commands: 'EVAL: the constants 0 and -0 in one function',
    differs: 'they are two',
    reason: 'Lua 5.1 takes them for one, whichever it reads first',
  },
  {
    commands: 'EVAL: the sign of what is no number, and addresses of tables and functions',
    differs: 'nan has no sign, and an address is a count',
    reason: 'a double of JavaScript does not tell its sign; replicas have to agree on addresses',
  },
  {
    commands:
      'EVAL: collectgarbage, string.dump, the order of pairs, `__redis__err__handler` in _G',
    differs: 'nothing is collected on demand or dumped, order is 1, 2, 3, … and as keys came',
    reason: 'these are how Redis is made, not what it promises',
  },
  {
    commands: 'EVAL: x ^ y with a fraction as y, and names with a zero byte in errors',
    differs: 'the last digits of the power; the name is shown with all that follows the zero byte',
    reason: 'powers are those of V8, not of the C library; texts here do not end at a zero byte',
  },
];

/*
 * hiredis at a gateway: blocking and asynchronous contexts, pipelines, transactions, subscriptions,
 * timeouts; then a counter while leaders move and nodes die. Not tried: streams,
 * and Redis Cluster, which hiredis knows nothing of.
 */
#include <errno.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASYNC_COMMANDS 2000

static int failed;
static char host[64];
static int port;

static void check(const char *name, const char *why) {
  failed |= why != NULL;
  printf(why ? "not ok hiredis %s: %s\n" : "ok hiredis %s\n", name, why);
  fflush(stdout);
}

static redisContext *opened(int seconds) {
  struct timeval timeout = {seconds, 0};
  redisContext *c = redisConnectWithTimeout(host, port, timeout);
  if (c == NULL || c->err) {
    fprintf(stderr, "no connection: %s\n", c ? c->errstr : "no memory");
    exit(1);
  }
  redisSetTimeout(c, timeout);
  return c;
}

/* The reply as text, for a moment: a string, a number, nil, or an array's elements with spaces between. */
static const char *said(redisReply *reply, char *text, size_t room) {
  if (reply == NULL) return "no reply";
  switch (reply->type) {
    case REDIS_REPLY_INTEGER: snprintf(text, room, "%lld", reply->integer); break;
    case REDIS_REPLY_NIL: snprintf(text, room, "nil"); break;
    case REDIS_REPLY_ARRAY:
      text[0] = 0;
      for (size_t i = 0; i < reply->elements; i++) {
        char one[256];
        size_t used = strlen(text);
        snprintf(text + used, room - used, i ? " %s" : "%s", said(reply->element[i], one, sizeof one));
      }
      break;
    default: snprintf(text, room, "%s", reply->str);
  }
  return text;
}

/* What is wrong with what `format` is answered; NULL when nothing is. */
static const char *expect(redisContext *c, const char *expected, const char *format, ...) {
  static char why[1024];
  char text[512];
  va_list args;
  va_start(args, format);
  redisReply *reply = redisvCommand(c, format, args);
  va_end(args);
  said(reply, text, sizeof text);
  int same = strncmp(text, expected, strlen(expected)) == 0;
  if (reply) freeReplyObject(reply);
  if (same) return NULL;
  snprintf(why, sizeof why, "%s is answered %s instead of %s", format, text, expected);
  return why;
}

typedef const char *Step[2];

/* What is wrong with the first of these that is not as it should be. */
static const char *expect_all(redisContext *c, const Step *steps, size_t count) {
  const char *why = NULL;
  for (size_t i = 0; i < count && !why; i++) why = expect(c, steps[i][0], steps[i][1]);
  return why;
}

#define EXPECT_ALL(c, steps) expect_all(c, steps, sizeof(steps) / sizeof(*(steps)))

static const char *commands(redisContext *c) {
  const char *why = expect(c, "OK", "SET hi:a %b", "\0\r\n", (size_t)3);
  const Step steps[] = {
      {"3", "STRLEN hi:a"},        {"OK", "MSET hi:1 a hi:2 b"}, {"a b nil", "MGET hi:1 hi:2 hi:none"},
      {"", "DEL {hi}l {hi}h"},     {"2", "RPUSH {hi}l x y"},     {"{hi}l x", "BLPOP {hi}l 1"},
      {"1", "HSET {hi}h f v"},     {"WRONGTYPE", "INCR {hi}h"},  {"1 a", "EVAL return{1,KEYS[1]} 1 a"},
  };
  return why ? why : EXPECT_ALL(c, steps);
}

static const char *transactions(redisContext *c) {
  redisContext *other = opened(10);
  const Step alone[] = {
      {"OK", "WATCH hi:t"},     {"OK", "MULTI"},  {"QUEUED", "SET hi:t 1"},
      {"QUEUED", "INCR hi:t"},  {"OK 2", "EXEC"}, {"OK", "WATCH hi:t"},
  };
  const Step disturbed[] = {
      {"OK", "MULTI"}, {"QUEUED", "SET hi:t mine"}, {"nil", "EXEC"}, {"theirs", "GET hi:t"},
  };
  const char *why = EXPECT_ALL(c, alone);
  if (!why) why = expect(other, "OK", "SET hi:t theirs");
  redisFree(other);
  return why ? why : EXPECT_ALL(c, disturbed);
}

static const char *pipelines(redisContext *c) {
  redisReply *reply;
  for (int i = 0; i < 1000; i++) redisAppendCommand(c, "SET hi:p%d %d", i, i);
  for (int i = 0; i < 1000; i++) redisAppendCommand(c, "GET hi:p%d", i);
  for (int i = 0; i < 2000; i++) {
    if (redisGetReply(c, (void **)&reply) != REDIS_OK) return c->errstr;
    int wrong = i >= 1000 && atoi(reply->str) != i - 1000;
    freeReplyObject(reply);
    if (wrong) return "the replies are not in order";
  }
  return NULL;
}

static const char *large_values(redisContext *c) {
  size_t size = 8 << 20;
  char *value = malloc(size);
  memset(value, 'x', size);
  const char *why = expect(c, "OK", "SET hi:large %b", value, size);
  redisReply *reply = why ? NULL : redisCommand(c, "GET hi:large");
  if (!why && (!reply || reply->len != (size_t)size || memcmp(reply->str, value, size))) why = "it is another";
  if (reply) freeReplyObject(reply);
  free(value);
  return why;
}

static const char *subscriptions(redisContext *c) {
  redisContext *heard = opened(10);
  const char *why = expect(heard, "subscribe hi:news 1", "SUBSCRIBE hi:news");
  redisReply *reply = NULL;
  char text[256];
  if (!why) why = expect(c, "1", "PUBLISH hi:news hello");
  if (!why && redisGetReply(heard, (void **)&reply) != REDIS_OK) why = heard->errstr;
  if (!why && strcmp(said(reply, text, sizeof text), "message hi:news hello")) why = "another message came";
  if (reply) freeReplyObject(reply);
  redisFree(heard);
  return why;
}

/* A context whose time is over is lost, as ever with hiredis; redisReconnect makes it anew. */
static const char *timeouts(void) {
  redisContext *c = opened(1);
  redisReply *reply = redisCommand(c, "BLPOP hi:none 5");
  const char *why = reply != NULL || c->err != REDIS_ERR_IO ? "it did not end" : NULL;
  if (!why && redisReconnect(c) != REDIS_OK) why = c->errstr;
  if (!why) why = expect(c, "PONG", "PING");
  redisFree(c);
  return why;
}

static int answered;

static void on_reply(redisAsyncContext *ac, void *given, void *number) {
  redisReply *reply = given;
  if (reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == (long)number) answered++;
  if ((long)number == ASYNC_COMMANDS) redisAsyncDisconnect(ac);
}

static short wanted;
static void read_on(void *data) { (void)data, wanted |= POLLIN; }
static void read_off(void *data) { (void)data, wanted &= ~POLLIN; }
static void write_on(void *data) { (void)data, wanted |= POLLOUT; }
static void write_off(void *data) { (void)data, wanted &= ~POLLOUT; }
static void forget(void *data) { (void)data, wanted = 0; }

/* An event loop of its own, as hiredis's adapters are. */
static const char *asynchronous(redisContext *c) {
  const char *why = expect(c, "", "DEL hi:async");
  redisAsyncContext *ac = redisAsyncConnect(host, port);
  if (why || ac->err) return why ? why : ac->errstr;
  ac->ev.addRead = read_on, ac->ev.delRead = read_off, ac->ev.cleanup = forget;
  ac->ev.addWrite = write_on, ac->ev.delWrite = write_off;
  for (long i = 1; i <= ASYNC_COMMANDS; i++) redisAsyncCommand(ac, on_reply, (void *)i, "INCR hi:async");
  struct pollfd at = {.fd = ac->c.fd};
  while ((at.events = wanted) && poll(&at, 1, 20000) > 0) {
    if (at.revents & (POLLIN | POLLHUP)) redisAsyncHandleRead(ac);
    if (wanted && (at.revents & POLLOUT)) redisAsyncHandleWrite(ac);
  }
  return answered == ASYNC_COMMANDS ? NULL : "replies are missing, or in another order";
}

/* What is known to be acknowledged must be there; what failed may be. */
static const char *counter(const char *trouble, int may_fail) {
  static char why[256];
  long acknowledged = 0, lost = 0, counted;
  redisContext *c = opened(10);
  freeReplyObject(redisCommand(c, "DEL hi:%s", trouble));
  pid_t child = fork();
  if (child == 0) exit(execlp("sh", "sh", "trouble.sh", trouble, NULL));
  while (waitpid(child, NULL, WNOHANG) == 0) {
    redisReply *reply = redisCommand(c, "INCR hi:%s", trouble);
    if (reply && reply->type == REDIS_REPLY_INTEGER) acknowledged++;
    else lost++;
    if (reply) freeReplyObject(reply);
    usleep(c->err ? 100000 : 5000);
    if (c->err) redisReconnect(c);
  }
  redisReply *reply = redisCommand(c, "GET hi:%s", trouble);
  counted = reply && reply->str ? atol(reply->str) : -1;
  if (reply) freeReplyObject(reply);
  redisFree(c);
  snprintf(why, sizeof why, "%ld acknowledged, %ld counted, %ld failed", acknowledged, counted, lost);
  int fine = acknowledged > 0 && counted >= acknowledged && counted <= acknowledged + lost && (may_fail || !lost);
  return fine ? NULL : why;
}

int main(void) {
  if (sscanf(getenv("KVORUM_GATEWAYS"), "%63[^:]:%d", host, &port) != 2) return 1;
  redisContext *c = opened(10);
  check("commands", commands(c));
  check("transactions", transactions(c));
  check("pipelines", pipelines(c));
  check("large values", large_values(c));
  check("subscriptions", subscriptions(c));
  check("timeouts", timeouts());
  check("asynchronous", asynchronous(c));
  redisFree(c);
  check("counter while leaders move", counter("leaders", 0));
  check("counter while nodes die", counter("nodes", 1));
  return failed;
}

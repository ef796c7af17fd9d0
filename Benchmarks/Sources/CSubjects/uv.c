// SPDX-License-Identifier: Apache-2.0
#include <uv.h>

#include "list.h"

typedef struct {
  uv_loop_t uv;
  uv_async_t async;
  list mail;
} loop;

typedef struct {
  size_t count;
  uv_timer_t timers[];
} timers;

static void on_mail(uv_async_t *async) { list_run(&((loop *)async->data)->mail); }

static void *make(void) {
  loop *l = malloc(sizeof *l);
  list_make(&l->mail);
  uv_loop_init(&l->uv);
  uv_async_init(&l->uv, &l->async, on_mail);
  l->async.data = l;
  return l;
}

static void run(void *l) { uv_run(&((loop *)l)->uv, UV_RUN_DEFAULT); }
static void stop(void *l) { uv_stop(&((loop *)l)->uv); }
static void pass(void *l) { uv_run(&((loop *)l)->uv, UV_RUN_NOWAIT); }

static void submit(loop *l, job j) {
  if (list_put(&l->mail, j)) uv_async_send(&l->async);
}

static void post(void *l) { submit(l, (job){call_plain, NULL}); }
static void post_owning(void *l, uint64_t value) {
  submit(l, (job){call_owning, make_owned(value)});
}

static void send_word(void *l, uint64_t value) {
  submit(l, (job){call_word, (void *)(uintptr_t)value});
}

static void on_signal(uv_async_t *async) {
  (void)async;
  bench_call(0);
}

static void *make_signal(void *l) {
  uv_async_t *async = malloc(sizeof *async);
  uv_async_init(&((loop *)l)->uv, async, on_signal);
  return async;
}

static void send_signal(void *async) { uv_async_send(async); }

static void on_timer(uv_timer_t *timer) { bench_call((uintptr_t)timer->data); }

static void *make_timers(void *l, size_t count) {
  timers *t = malloc(sizeof *t + count * sizeof *t->timers);
  t->count = count;
  for (size_t i = 0; i < count; i++) {
    uv_timer_init(&((loop *)l)->uv, &t->timers[i]);
    t->timers[i].data = (void *)i;
  }
  if (count) uv_update_time(&((loop *)l)->uv);
  return t;
}

/// Whole milliseconds are all it has; none may be early.
static uint64_t milliseconds(uint64_t nanoseconds) { return (nanoseconds + 999999) / 1000000; }

static void add_timers(void *p, const uint32_t *which, const uint64_t *delays, size_t count) {
  timers *t = p;
  for (size_t i = 0; i < count; i++) {
    uv_timer_start(&t->timers[which[i]], on_timer, milliseconds(delays[i]), 0);
  }
}

static void cancel_timers(void *p, const uint32_t *which, size_t count) {
  timers *t = p;
  for (size_t i = 0; i < count; i++) uv_timer_stop(&t->timers[which[i]]);
}

static void free_timers(void *p) {
  timers *t = p;
  if (!t->count) return free(t);
  uv_loop_t *uv = t->timers[0].loop;
  for (size_t i = 0; i < t->count; i++) uv_close((uv_handle_t *)&t->timers[i], NULL);
  uv_run(uv, UV_RUN_NOWAIT);
  free(t);
}

static void tick(void *l, uint64_t nanoseconds) {
  uv_timer_t *timer = calloc(1, sizeof *timer);
  uv_timer_init(&((loop *)l)->uv, timer);
  uv_timer_start(timer, on_timer, milliseconds(nanoseconds), milliseconds(nanoseconds));
}

static void on_readable(uv_poll_t *poll, int status, int events) {
  (void)status, (void)events;
  bench_call((uintptr_t)poll->data);
}

static void watch(void *l, int descriptor, uint64_t value) {
  uv_poll_t *poll = malloc(sizeof *poll);
  uv_poll_init(&((loop *)l)->uv, poll, descriptor);
  poll->data = (void *)(uintptr_t)value;
  uv_poll_start(poll, UV_READABLE, on_readable);
}

subject uv_subject(void) {
  return (subject){
      .make = make, .run = run, .stop = stop, .pass = pass,
      .post = post, .post_owning = post_owning, .send_word = send_word,
      .make_signal = make_signal, .send_signal = send_signal,
      .make_timers = make_timers, .add_timers = add_timers, .set_timers = add_timers,
      .cancel_timers = cancel_timers, .free_timers = free_timers,
      .tick = tick, .watch = watch,
  };
}

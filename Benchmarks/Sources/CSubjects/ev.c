// SPDX-License-Identifier: Apache-2.0
#include <ev.h>

#include "list.h"

// The library's macros break the aliasing rules that this warning guards, by design.
#pragma clang diagnostic ignored "-Wstrict-aliasing"

typedef struct {
  struct ev_loop *ev;
  ev_async async;
  list mail;
} loop;

typedef struct {
  struct ev_loop *ev;
  ev_timer timers[];
} timers;

static void on_mail(struct ev_loop *ev, ev_async *async, int events) {
  (void)ev, (void)events;
  list_run(&((loop *)async->data)->mail);
}

static void *make(void) {
  loop *l = malloc(sizeof *l);
  list_make(&l->mail);
  l->ev = ev_loop_new(EVBACKEND_EPOLL);
  ev_async_init(&l->async, on_mail);
  l->async.data = l;
  ev_async_start(l->ev, &l->async);
  return l;
}

static void run(void *l) { ev_run(((loop *)l)->ev, 0); }
static void stop(void *l) { ev_break(((loop *)l)->ev, EVBREAK_ONE); }
static void pass(void *l) { ev_run(((loop *)l)->ev, EVRUN_NOWAIT); }

static void submit(loop *l, job j) {
  if (list_put(&l->mail, j)) ev_async_send(l->ev, &l->async);
}

static void post(void *l) { submit(l, (job){call_plain, NULL}); }
static void post_owning(void *l, uint64_t value) {
  submit(l, (job){call_owning, make_owned(value)});
}

static void send_word(void *l, uint64_t value) {
  submit(l, (job){call_word, (void *)(uintptr_t)value});
}

typedef struct {
  struct ev_loop *ev;
  ev_async async;
} notice;

static void on_signal(struct ev_loop *ev, ev_async *async, int events) {
  (void)ev, (void)async, (void)events;
  bench_call(0);
}

static void *make_signal(void *l) {
  notice *n = malloc(sizeof *n);
  n->ev = ((loop *)l)->ev;
  ev_async_init(&n->async, on_signal);
  ev_async_start(n->ev, &n->async);
  return n;
}

static void send_signal(void *p) {
  notice *n = p;
  ev_async_send(n->ev, &n->async);
}

static void on_timer(struct ev_loop *ev, ev_timer *timer, int events) {
  (void)ev, (void)events;
  bench_call((uintptr_t)timer->data);
}

static void *make_timers(void *l, size_t count) {
  timers *t = malloc(sizeof *t + count * sizeof *t->timers);
  t->ev = ((loop *)l)->ev;
  for (size_t i = 0; i < count; i++) {
    ev_init(&t->timers[i], on_timer);
    t->timers[i].data = (void *)i;
  }
  ev_now_update(t->ev);
  return t;
}

static void add_timers(void *p, const uint32_t *which, const uint64_t *delays, size_t count) {
  timers *t = p;
  for (size_t i = 0; i < count; i++) {
    ev_timer *timer = &t->timers[which[i]];
    ev_timer_set(timer, (double)delays[i] * 1e-9, 0.0);
    ev_timer_start(t->ev, timer);
  }
}

/// The manual's way to put a timer off: no stop and start, but a new repeat value.
static void set_timers(void *p, const uint32_t *which, const uint64_t *delays, size_t count) {
  timers *t = p;
  for (size_t i = 0; i < count; i++) {
    ev_timer *timer = &t->timers[which[i]];
    timer->repeat = (double)delays[i] * 1e-9;
    ev_timer_again(t->ev, timer);
  }
}

static void cancel_timers(void *p, const uint32_t *which, size_t count) {
  timers *t = p;
  for (size_t i = 0; i < count; i++) ev_timer_stop(t->ev, &t->timers[which[i]]);
}

static void tick(void *l, uint64_t nanoseconds) {
  ev_timer *timer = calloc(1, sizeof *timer);
  double seconds = (double)nanoseconds * 1e-9;
  ev_timer_init(timer, on_timer, seconds, seconds);
  ev_now_update(((loop *)l)->ev);
  ev_timer_start(((loop *)l)->ev, timer);
}

static void on_readable(struct ev_loop *ev, ev_io *io, int events) {
  (void)ev, (void)events;
  bench_call((uintptr_t)io->data);
}

static void watch(void *l, int descriptor, uint64_t value) {
  ev_io *io = malloc(sizeof *io);
  ev_io_init(io, on_readable, descriptor, EV_READ);
  io->data = (void *)(uintptr_t)value;
  ev_io_start(((loop *)l)->ev, io);
}

subject ev_subject(void) {
  return (subject){
      .make = make, .run = run, .stop = stop, .pass = pass,
      .post = post, .post_owning = post_owning, .send_word = send_word,
      .make_signal = make_signal, .send_signal = send_signal,
      .make_timers = make_timers, .add_timers = add_timers, .set_timers = set_timers,
      .cancel_timers = cancel_timers, .free_timers = free,
      .tick = tick, .watch = watch,
  };
}

// SPDX-License-Identifier: Apache-2.0
#include <event2/event.h>
#include <event2/thread.h>

#include "list.h"

typedef struct {
  struct event_base *base;
  struct event *async;
  list mail;
} loop;

typedef struct {
  size_t count;
  struct event *timers[];
} timers;

static void on_mail(evutil_socket_t descriptor, short what, void *l) {
  (void)descriptor, (void)what;
  list_run(&((loop *)l)->mail);
}

static void *make(void) {
  evthread_use_pthreads();
  loop *l = malloc(sizeof *l);
  list_make(&l->mail);
  struct event_config *config = event_config_new();
  event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
  l->base = event_base_new_with_config(config);
  event_config_free(config);
  evthread_make_base_notifiable(l->base);
  l->async = event_new(l->base, -1, 0, on_mail, l);
  return l;
}

static void run(void *l) { event_base_loop(((loop *)l)->base, EVLOOP_NO_EXIT_ON_EMPTY); }
static void stop(void *l) { event_base_loopbreak(((loop *)l)->base); }

/// Without the second flag it would not ask the kernel when nothing is registered.
static void pass(void *l) {
  event_base_loop(((loop *)l)->base, EVLOOP_NONBLOCK | EVLOOP_NO_EXIT_ON_EMPTY);
}

/// Not by event_base_once, which other threads pay five times as much for.
static void submit(loop *l, job j) {
  if (list_put(&l->mail, j)) event_active(l->async, EV_READ, 0);
}

static void post(void *l) { submit(l, (job){call_plain, NULL}); }
static void post_owning(void *l, uint64_t value) {
  submit(l, (job){call_owning, make_owned(value)});
}

static void send_word(void *l, uint64_t value) {
  submit(l, (job){call_word, (void *)(uintptr_t)value});
}

static void on_event(evutil_socket_t descriptor, short what, void *value) {
  (void)descriptor, (void)what;
  bench_call((uintptr_t)value);
}

static void *make_signal(void *l) { return event_new(((loop *)l)->base, -1, 0, on_event, NULL); }
static void send_signal(void *event) { event_active(event, EV_READ, 0); }

static void *make_timers(void *l, size_t count) {
  timers *t = malloc(sizeof *t + count * sizeof *t->timers);
  t->count = count;
  for (size_t i = 0; i < count; i++) {
    t->timers[i] = evtimer_new(((loop *)l)->base, on_event, (void *)i);
  }
  return t;
}

static struct timeval interval(uint64_t nanoseconds) {
  uint64_t micros = (nanoseconds + 999) / 1000;
  return (struct timeval){(time_t)(micros / 1000000), (suseconds_t)(micros % 1000000)};
}

static void add_timers(void *p, const uint32_t *which, const uint64_t *delays, size_t count) {
  timers *t = p;
  for (size_t i = 0; i < count; i++) {
    struct timeval delay = interval(delays[i]);
    evtimer_add(t->timers[which[i]], &delay);
  }
}

static void cancel_timers(void *p, const uint32_t *which, size_t count) {
  timers *t = p;
  for (size_t i = 0; i < count; i++) evtimer_del(t->timers[which[i]]);
}

static void free_timers(void *p) {
  timers *t = p;
  for (size_t i = 0; i < t->count; i++) event_free(t->timers[i]);
  free(t);
}

static void tick(void *l, uint64_t nanoseconds) {
  struct timeval period = interval(nanoseconds);
  event_add(event_new(((loop *)l)->base, -1, EV_PERSIST, on_event, NULL), &period);
}

static void watch(void *l, int descriptor, uint64_t value) {
  event_add(
      event_new(((loop *)l)->base, descriptor, EV_READ | EV_PERSIST, on_event,
                (void *)(uintptr_t)value),
      NULL);
}

subject event_subject(void) {
  return (subject){
      .make = make, .run = run, .stop = stop, .pass = pass,
      .post = post, .post_owning = post_owning, .send_word = send_word,
      .make_signal = make_signal, .send_signal = send_signal,
      .make_timers = make_timers, .add_timers = add_timers, .set_timers = add_timers,
      .cancel_timers = cancel_timers, .free_timers = free_timers,
      .tick = tick, .watch = watch,
  };
}

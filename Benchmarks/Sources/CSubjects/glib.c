// SPDX-License-Identifier: Apache-2.0
#include <glib-unix.h>
#include <glib.h>

#include "job.h"

typedef struct {
  GMainContext *context;
  GMainLoop *main;
} loop;

typedef struct {
  GMainContext *context;
  size_t count;
  GSource *timers[];
} timers;

static void *make(void) {
  loop *l = malloc(sizeof *l);
  l->context = g_main_context_new();
  g_main_context_push_thread_default(l->context);
  l->main = g_main_loop_new(l->context, FALSE);
  return l;
}

static void run(void *l) { g_main_loop_run(((loop *)l)->main); }
static void stop(void *l) { g_main_loop_quit(((loop *)l)->main); }
static void pass(void *l) { g_main_context_iteration(((loop *)l)->context, FALSE); }

static gboolean on_call(gpointer value) {
  bench_call((uintptr_t)value);
  return G_SOURCE_REMOVE;
}

static gboolean on_owning(gpointer o) {
  bench_call(((owned *)o)->value);
  return G_SOURCE_REMOVE;
}

/// As g_main_context_invoke does, which on the loop's own thread would call at once.
static void submit(loop *l, GSourceFunc call, gpointer context, GDestroyNotify destroy) {
  GSource *source = g_idle_source_new();
  g_source_set_priority(source, G_PRIORITY_DEFAULT);
  g_source_set_callback(source, call, context, destroy);
  g_source_attach(source, l->context);
  g_source_unref(source);
}

static void post(void *l) { submit(l, on_call, NULL, NULL); }
static void post_owning(void *l, uint64_t value) {
  submit(l, on_owning, make_owned(value), free);
}

static void send_word(void *l, uint64_t value) {
  submit(l, on_call, (gpointer)(uintptr_t)value, NULL);
}

static gboolean dispatch_signal(GSource *source, GSourceFunc call, gpointer context) {
  (void)call, (void)context;
  g_source_set_ready_time(source, -1);
  bench_call(0);
  return G_SOURCE_CONTINUE;
}

static GSourceFuncs signal_functions = {.dispatch = dispatch_signal};

static void *make_signal(void *l) {
  GSource *source = g_source_new(&signal_functions, sizeof(GSource));
  g_source_attach(source, ((loop *)l)->context);
  return source;
}

static void send_signal(void *source) { g_source_set_ready_time(source, 0); }

static void *make_timers(void *l, size_t count) {
  timers *t = malloc(sizeof *t + count * sizeof *t->timers);
  t->context = ((loop *)l)->context;
  t->count = count;
  for (size_t i = 0; i < count; i++) {
    t->timers[i] = g_timeout_source_new(0);
    g_source_set_callback(t->timers[i], on_call, (gpointer)i, NULL);
  }
  return t;
}

static void set_timers(void *p, const uint32_t *which, const uint64_t *delays, size_t count) {
  timers *t = p;
  gint64 now = g_get_monotonic_time();
  for (size_t i = 0; i < count; i++) {
    g_source_set_ready_time(t->timers[which[i]], now + (gint64)(delays[i] / 1000));
  }
}

static void add_timers(void *p, const uint32_t *which, const uint64_t *delays, size_t count) {
  timers *t = p;
  gint64 now = g_get_monotonic_time();
  for (size_t i = 0; i < count; i++) {
    g_source_set_ready_time(t->timers[which[i]], now + (gint64)(delays[i] / 1000));
    g_source_attach(t->timers[which[i]], t->context);
  }
}

static void cancel_timers(void *p, const uint32_t *which, size_t count) {
  timers *t = p;
  for (size_t i = 0; i < count; i++) g_source_destroy(t->timers[which[i]]);
}

static void free_timers(void *p) {
  timers *t = p;
  for (size_t i = 0; i < t->count; i++) g_source_unref(t->timers[i]);
  free(t);
}

static gboolean on_tick(gpointer unused) {
  (void)unused;
  bench_call(0);
  return G_SOURCE_CONTINUE;
}

static void tick(void *l, uint64_t nanoseconds) {
  GSource *source = g_timeout_source_new((guint)((nanoseconds + 999999) / 1000000));
  g_source_set_callback(source, on_tick, NULL, NULL);
  g_source_attach(source, ((loop *)l)->context);
}

static gboolean on_readable(gint descriptor, GIOCondition condition, gpointer value) {
  (void)descriptor, (void)condition;
  bench_call((uintptr_t)value);
  return G_SOURCE_CONTINUE;
}

static void watch(void *l, int descriptor, uint64_t value) {
  GSource *source = g_unix_fd_source_new(descriptor, G_IO_IN);
  g_source_set_callback(
      source, (GSourceFunc)(void (*)(void))on_readable, (gpointer)(uintptr_t)value, NULL);
  g_source_attach(source, ((loop *)l)->context);
}

subject glib_subject(void) {
  return (subject){
      .make = make, .run = run, .stop = stop, .pass = pass,
      .post = post, .post_owning = post_owning, .send_word = send_word,
      .make_signal = make_signal, .send_signal = send_signal,
      .make_timers = make_timers, .add_timers = add_timers, .set_timers = set_timers,
      .cancel_timers = cancel_timers, .free_timers = free_timers, .most_timers = 100000,
      .tick = tick, .watch = watch,
  };
}

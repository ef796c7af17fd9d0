// SPDX-License-Identifier: Apache-2.0
//
// The yardstick: what one would write by hand for one program, with epoll, an eventfd and a heap.
#define _GNU_SOURCE
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "platform.h"
#include "queue.h"

typedef struct {
  /// Place in the heap; 0 when it does not wait.
  uint32_t place;
  uint32_t value;
  /// Of a ticking one.
  uint64_t interval;
} timer;

typedef struct {
  uint64_t deadline;
  timer *timer;
} entry;

// The root stands at 3, so that four children share a cache line.
enum { ROOT = 3, WAYS = 4 };

/// By how many nanoseconds a precise loop wakes early: how late the kernel wakes it as a rule.
enum { EARLY = 250000 };

typedef struct {
  int epoll, wake;
  pthread_t owner;
  queue mail;
  /// Jobs of the loop's own thread, which need no lock, and the ones that run.
  jobs local, running;
  bool is_stopped, is_precise;
  unsigned passes;
  entry *heap;
  size_t end, capacity;  // in entries, counted from 0; the first three are unused
  _Alignas(64) _Atomic bool is_sleeping;
} loop;

typedef struct {
  loop *loop;
  timer *timers;
} timers;

// MARK: Heap

static void put(loop *l, size_t place, entry e) {
  l->heap[place] = e;
  e.timer->place = (uint32_t)place;
}

static void sift_up(loop *l, size_t place, entry e) {
  while (place > ROOT) {
    size_t parent = (place - ROOT - 1) / WAYS + ROOT;
    if (l->heap[parent].deadline <= e.deadline) break;
    put(l, place, l->heap[parent]);
    place = parent;
  }
  put(l, place, e);
}

static void sift_down(loop *l, size_t place, entry e) {
  while (true) {
    size_t first = WAYS * (place - ROOT) + ROOT + 1;
    if (first >= l->end) break;
    size_t last = first + WAYS < l->end ? first + WAYS : l->end;
    size_t least = first;
    for (size_t i = first + 1; i < last; i++) {
      if (l->heap[i].deadline < l->heap[least].deadline) least = i;
    }
    if (l->heap[least].deadline >= e.deadline) break;
    put(l, place, l->heap[least]);
    place = least;
  }
  put(l, place, e);
}

static void sift(loop *l, size_t place, entry e) {
  if (place > ROOT && l->heap[(place - ROOT - 1) / WAYS + ROOT].deadline > e.deadline) {
    sift_up(l, place, e);
  } else {
    sift_down(l, place, e);
  }
}

static void add_timer(loop *l, timer *t, uint64_t deadline) {
  if (l->end >= l->capacity) {
    l->capacity = l->capacity ? l->capacity * 2 : 64;
    entry *heap = aligned_alloc(64, l->capacity * sizeof *heap);
    if (l->heap) memcpy(heap, l->heap, l->end * sizeof *heap);
    free(l->heap);
    l->heap = heap;
  }
  sift_up(l, l->end++, (entry){deadline, t});
}

static void cancel_timer(loop *l, timer *t) {
  size_t place = t->place;
  if (!place) return;
  t->place = 0;
  entry last = l->heap[--l->end];
  if (place < l->end) sift(l, place, last);
}

static void fire_due(loop *l) {
  if (l->end == ROOT) return;
  uint64_t now = bench_now();
  while (l->end > ROOT && l->heap[ROOT].deadline <= now) {
    entry due = l->heap[ROOT];
    timer *t = due.timer;
    if (t->interval) {
      uint64_t missed = (now - due.deadline) / t->interval;
      sift_down(l, ROOT, (entry){due.deadline + (missed + 1) * t->interval, t});
    } else {
      cancel_timer(l, t);
    }
    bench_call(t->value);
  }
}

// MARK: Passes

static int ask(loop *l, struct epoll_event *events, int most, bool waits) {
  if (waits && l->end == ROOT) return epoll_wait(l->epoll, events, most, -1);
  uint64_t now = waits ? bench_now() : 0;
  if (!waits || l->heap[ROOT].deadline <= now) return epoll_wait(l->epoll, events, most, 0);
  uint64_t left = l->heap[ROOT].deadline - now;
  if (l->is_precise) {
    if (left <= EARLY) {
      while (bench_now() < l->heap[ROOT].deadline) continue;
      return 0;  // the kernel can be asked when the timer has fired
    }
    left -= EARLY;
  }
  struct timespec limit = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
  return epoll_pwait2(l->epoll, events, most, &limit, NULL);
}

static void pass(loop *l, bool waits) {
  if (l->local.count) {
    jobs full = l->local;
    l->local = l->running;
    l->running = full;
    jobs_run(&l->running);
  }
  queue_run(&l->mail);
  if (l->is_stopped) return;
  // While jobs come the kernel is asked now and then.
  if (l->local.count) {
    if (++l->passes % 61) return;
    waits = false;
  }

  if (waits) {
    atomic_store(&l->is_sleeping, true);
    if (atomic_load(&l->mail.is_pending)) waits = false;
  }
  struct epoll_event events[256];
  int count = ask(l, events, 256, waits);
  atomic_store_explicit(&l->is_sleeping, false, memory_order_release);
  fire_due(l);
  for (int i = 0; i < count; i++) {
    if (events[i].data.u64 != UINT64_MAX) bench_call(events[i].data.u64);
  }
}

static void *make(void) {
  loop *l = aligned_alloc(64, sizeof *l);
  memset(l, 0, sizeof *l);
  l->epoll = epoll_create1(EPOLL_CLOEXEC);
  l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  l->owner = pthread_self();
  l->end = ROOT;
  queue_make(&l->mail);
  // Edge-triggered, and so never read.
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = UINT64_MAX};
  epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake, &event);
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  return l;
}

static void run(void *p) {
  loop *l = p;
  while (!l->is_stopped) pass(l, true);
  l->is_stopped = false;
}

static void stop(void *p) { ((loop *)p)->is_stopped = true; }
static void pass_once(void *p) { pass(p, false); }

// MARK: Posts

static void wake(loop *l) {
  if (atomic_load(&l->is_sleeping) && atomic_exchange(&l->is_sleeping, false)) {
    eventfd_write(l->wake, 1);
  }
}

static void submit(loop *l, job j) {
  if (pthread_equal(pthread_self(), l->owner)) {
    jobs_append(&l->local, j);
  } else if (queue_put(&l->mail, j)) {
    wake(l);
  }
}

static void post(void *l) { submit(l, (job){call_plain, NULL}); }
static void post_owning(void *l, uint64_t value) {
  submit(l, (job){call_owning, make_owned(value)});
}

static void send_word(void *l, uint64_t value) {
  submit(l, (job){call_word, (void *)(uintptr_t)value});
}

typedef struct {
  loop *loop;
  _Atomic bool is_sent;
} flag;

static void *make_signal(void *l) {
  flag *f = calloc(1, sizeof *f);
  f->loop = l;
  return f;
}

static void call_signal(void *p) {
  atomic_store(&((flag *)p)->is_sent, false);
  bench_call(0);
}

static void send_signal(void *p) {
  flag *f = p;
  if (atomic_load(&f->is_sent) || atomic_exchange(&f->is_sent, true)) return;
  submit(f->loop, (job){call_signal, f});
}

// MARK: Timers

static void *make_timers(void *l, size_t count) {
  timers *t = malloc(sizeof *t);
  t->loop = l;
  t->timers = calloc(count, sizeof *t->timers);
  for (size_t i = 0; i < count; i++) t->timers[i].value = (uint32_t)i;
  return t;
}

static void add_timers(void *p, const uint32_t *which, const uint64_t *delays, size_t count) {
  timers *t = p;
  uint64_t now = bench_now();
  for (size_t i = 0; i < count; i++) add_timer(t->loop, &t->timers[which[i]], now + delays[i]);
}

static void set_timers(void *p, const uint32_t *which, const uint64_t *delays, size_t count) {
  timers *t = p;
  uint64_t now = bench_now();
  for (size_t i = 0; i < count; i++) {
    timer *set = &t->timers[which[i]];
    sift(t->loop, set->place, (entry){now + delays[i], set});
  }
}

static void cancel_timers(void *p, const uint32_t *which, size_t count) {
  timers *t = p;
  for (size_t i = 0; i < count; i++) cancel_timer(t->loop, &t->timers[which[i]]);
}

static void free_timers(void *p) {
  timers *t = p;
  free(t->timers);
  free(t);
}

static void tick(void *l, uint64_t nanoseconds) {
  timer *t = calloc(1, sizeof *t);
  t->interval = nanoseconds;
  add_timer(l, t, bench_now() + nanoseconds);
}

static void precise_tick(void *l, uint64_t nanoseconds) {
  ((loop *)l)->is_precise = true;
  tick(l, nanoseconds);
}

static void watch(void *l, int descriptor, uint64_t value) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = value};
  epoll_ctl(((loop *)l)->epoll, EPOLL_CTL_ADD, descriptor, &event);
}

subject raw_subject(void) {
  return (subject){
      .make = make, .run = run, .stop = stop, .pass = pass_once,
      .post = post, .post_owning = post_owning, .send_word = send_word,
      .make_signal = make_signal, .send_signal = send_signal,
      .make_timers = make_timers, .add_timers = add_timers, .set_timers = set_timers,
      .cancel_timers = cancel_timers, .free_timers = free_timers,
      .tick = tick, .precise_tick = precise_tick, .watch = watch,
  };
}

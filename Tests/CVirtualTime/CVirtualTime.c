// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CVirtualTime.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ll
#define TIMERS 64

/// A timer descriptor: an eventfd that is written to when its deadline has passed.
struct timer {
  int fd;
  int set;           // the epoll descriptor that watches it, or -1
  int64_t deadline;  // nanoseconds since the start, or -1 when not armed
  bool ready;
  epoll_data_t data;
};

static _Thread_local bool virtual;
static _Thread_local bool stamping;
static _Thread_local int64_t now, stamp;
static _Thread_local int timer_count;
static _Thread_local struct timer timers[TIMERS];
static _Thread_local void (*on_stuck)(void *);
static _Thread_local void *on_stuck_context;

static void fail(const char *message) {
  fprintf(stderr, "virtual time: %s\n", message);
  abort();
}

static struct timer *timer_of(int fd) {
  for (int i = 0; i < timer_count; i++)
    if (timers[i].fd == fd) return &timers[i];
  return NULL;
}

static struct timer *timer_in(int set) {
  for (int i = 0; i < timer_count; i++)
    if (timers[i].set == set) return &timers[i];
  return NULL;
}

/// Makes the descriptors readable whose deadline has passed.
static void expire(void) {
  for (int i = 0; i < timer_count; i++) {
    struct timer *t = &timers[i];
    if (t->deadline < 0 || t->deadline > now) continue;
    t->deadline = -1;
    t->ready = true;
    uint64_t one = 1;
    if (syscall(SYS_write, t->fd, &one, sizeof one) != sizeof one) fail("cannot write an eventfd");
  }
}

int64_t vt_now(void) { return now; }

void vt_advance(int64_t nanoseconds) {
  now += nanoseconds;
  expire();
}

void vt_stamp_begin(void) { stamping = true; }
void vt_stamp_end(void) { stamping = false; }

struct start {
  void (*body)(void *);
  void (*stuck)(void *);
  void *context;
};

static void *thread_main(void *argument) {
  struct start *start = argument;
  virtual = true;
  on_stuck = start->stuck;
  on_stuck_context = start->context;
  start->body(start->context);
  return NULL;
}

void vt_run(void (*body)(void *), void (*stuck)(void *), void *context) {
  struct start start = {body, stuck, context};
  pthread_t thread;
  if (pthread_create(&thread, NULL, thread_main, &start) != 0) fail("cannot start a thread");
  pthread_join(thread, NULL);
}

// What follows stands in for the C library.

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!virtual) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    return real(clock, time);
  }
  int64_t at = now + (clock == CLOCK_REALTIME ? VT_START : 4096) * SECOND;
  if (stamping && clock != CLOCK_REALTIME) at = ++stamp;
  time->tv_sec = at / SECOND;
  time->tv_nsec = at % SECOND;
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  time->tv_sec = precise.tv_sec;
  time->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

int timerfd_create(clockid_t clock, int flags) {
  if (!virtual) return (int)syscall(SYS_timerfd_create, clock, flags);
  if (timer_count == TIMERS) fail("too many timer descriptors");
  int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return -1;
  timers[timer_count++] = (struct timer){.fd = fd, .set = -1, .deadline = -1};
  return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *old) {
  struct timer *t = virtual ? timer_of(fd) : NULL;
  if (!t) return (int)syscall(SYS_timerfd_settime, fd, flags, value, old);
  if (!(flags & TFD_TIMER_ABSTIME) || value->it_interval.tv_sec || value->it_interval.tv_nsec)
    fail("only one-shot timers at an absolute time are known");
  // Arming takes back an expiry that nobody has read, as the kernel does.
  uint64_t ignored;
  if (t->ready && syscall(SYS_read, fd, &ignored, sizeof ignored) < 0 && errno != EAGAIN)
    fail("cannot read an eventfd");
  t->ready = false;
  int64_t at = value->it_value.tv_sec * SECOND + value->it_value.tv_nsec;
  t->deadline = at == 0 ? -1 : at - 4096 * SECOND;
  if (t->deadline < 0 && at != 0) t->deadline = 0;
  expire();
  return 0;
}

int epoll_ctl(int set, int operation, int fd, struct epoll_event *event) {
  struct timer *t = virtual ? timer_of(fd) : NULL;
  if (t) {
    t->set = operation == EPOLL_CTL_DEL ? -1 : set;
    if (event) t->data = event->data;
  }
  return (int)syscall(SYS_epoll_ctl, set, operation, fd, event);
}

/// When a timer and something else are ready, the kernel does not say which it tells first. Here
/// the timer always comes first.
int epoll_wait(int set, struct epoll_event *events, int capacity, int timeout) {
  if (!virtual) return (int)syscall(SYS_epoll_wait, set, events, capacity, timeout);
  if (timeout != 0) fail("epoll_wait is expected to follow ppoll, with no time limit of its own");
  struct timer *t = timer_in(set);
  if (t && t->ready && capacity > 0) {
    // Who is told of an expiry reads it at once: from here on it counts as read.
    t->ready = false;
    events[0].events = EPOLLIN;
    events[0].data = t->data;
    return 1;
  }
  return (int)syscall(SYS_epoll_wait, set, events, capacity, 0);
}

static int poll_now(struct pollfd *fds, nfds_t count) {
  struct timespec none = {0, 0};
  return (int)syscall(SYS_ppoll, fds, count, &none, NULL, 0);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask) {
  if (!virtual) {
    struct timespec copy;
    if (limit) copy = *limit;
    return (int)syscall(SYS_ppoll, fds, count, limit ? &copy : NULL, mask, 8);
  }
  int ready = poll_now(fds, count);
  if (ready != 0 || (limit && limit->tv_sec == 0 && limit->tv_nsec == 0)) return ready;
  if (limit) fail("waits with a limit other than zero are not known");
  struct timer *t = timer_in(fds[0].fd);
  if (t && t->deadline >= 0) {
    now = t->deadline;
    expire();
  } else if (on_stuck) {
    on_stuck(on_stuck_context);
  }
  ready = poll_now(fds, count);
  if (ready == 0) fail("the program sleeps for ever");
  return ready;
}

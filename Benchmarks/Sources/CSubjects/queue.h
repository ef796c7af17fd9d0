// SPDX-License-Identifier: Apache-2.0
//
// The queue of raw: jobs under a lock, in two arrays that swap.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "job.h"

typedef struct {
  job *jobs;
  size_t count, capacity;
} jobs;

typedef struct {
  pthread_mutex_t lock;
  jobs waiting;
  /// What the loop is running, and else empty.
  jobs running;
  /// Whether anything waits, to be asked without the lock.
  _Atomic bool is_pending;
} queue;

static inline void queue_make(queue *q) {
  *q = (queue){0};
  pthread_mutex_init(&q->lock, NULL);
}

static inline void jobs_append(jobs *to, job j) {
  if (to->count == to->capacity) {
    to->capacity = to->capacity ? to->capacity * 2 : 64;
    to->jobs = realloc(to->jobs, to->capacity * sizeof *to->jobs);
  }
  to->jobs[to->count++] = j;
}

/// Whether it is the first of a batch, so that the loop has to be woken.
static inline bool queue_put(queue *q, job j) {
  pthread_mutex_lock(&q->lock);
  bool is_first = q->waiting.count == 0;
  jobs_append(&q->waiting, j);
  if (is_first) atomic_store(&q->is_pending, true);
  pthread_mutex_unlock(&q->lock);
  return is_first;
}

static inline void jobs_run(jobs *from) {
  for (size_t i = 0; i < from->count; i++) from->jobs[i].call(from->jobs[i].context);
  from->count = 0;
}

/// Runs what waits, and not what comes meanwhile.
static inline void queue_run(queue *q) {
  if (!atomic_load(&q->is_pending)) return;
  pthread_mutex_lock(&q->lock);
  jobs full = q->waiting;
  q->waiting = q->running;
  q->running = full;
  atomic_store(&q->is_pending, false);
  pthread_mutex_unlock(&q->lock);
  jobs_run(&q->running);
}

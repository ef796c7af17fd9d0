// SPDX-License-Identifier: Apache-2.0
//
// What a library without a queue leaves to its users, as they mostly write it: a list of allocated
// nodes under a mutex.
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "job.h"

typedef struct node {
  struct node *next;
  job job;
} node;

typedef struct {
  pthread_mutex_t lock;
  node *first, **end;
} list;

static inline void list_make(list *l) {
  pthread_mutex_init(&l->lock, NULL);
  l->first = NULL;
  l->end = &l->first;
}

/// Whether it is the first of a batch, so that the loop has to be woken.
static inline bool list_put(list *l, job j) {
  node *n = malloc(sizeof *n);
  *n = (node){NULL, j};
  pthread_mutex_lock(&l->lock);
  bool is_first = !l->first;
  *l->end = n;
  l->end = &n->next;
  pthread_mutex_unlock(&l->lock);
  return is_first;
}

/// Runs what waits, and not what comes meanwhile.
static inline void list_run(list *l) {
  pthread_mutex_lock(&l->lock);
  node *n = l->first;
  l->first = NULL;
  l->end = &l->first;
  pthread_mutex_unlock(&l->lock);
  while (n) {
    job j = n->job;
    node *next = n->next;
    free(n);
    j.call(j.context);
    n = next;
  }
}

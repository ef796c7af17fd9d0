// SPDX-License-Identifier: Apache-2.0
//
// The three kinds of job.
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "subject.h"

typedef struct {
  void (*call)(void *context);
  void *context;
} job;

static inline void call_plain(void *unused) {
  (void)unused;
  bench_call(0);
}

typedef struct {
  uint64_t value;
} owned;

static inline void call_owning(void *context) {
  owned *o = context;
  bench_call(o->value);
  free(o);
}

static inline void call_word(void *word) { bench_call((uintptr_t)word); }

static inline owned *make_owned(uint64_t value) {
  owned *o = malloc(sizeof *o);
  o->value = value;
  return o;
}

// SPDX-License-Identifier: Apache-2.0
// Stands in for the allocator of a program, to count what some of its threads ask for.
#include "CAllocations.h"

#include <stdatomic.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED

void test_count_allocations(bool counts) { (void)counts; }
long test_allocations(void) { return -1; }

#else

static _Thread_local bool is_counting;
static atomic_long allocations;

void test_count_allocations(bool counts) { is_counting = counts; }
long test_allocations(void) { return atomic_load(&allocations); }

static void count(void) {
  if (is_counting) atomic_fetch_add(&allocations, 1);
}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
  count();
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  count();
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : 12;  // ENOMEM
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Counts allocations, in any program that links this.
#pragma once

#include <stdbool.h>

/// Counts what the calling thread allocates from here on, until it says false.
void test_count_allocations(bool counts);

/// How many allocations were counted on all threads; -1 where a sanitizer has them.
long test_allocations(void);

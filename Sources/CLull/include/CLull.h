// SPDX-License-Identifier: Apache-2.0
// What the Glibc module lacks: the kernel's event interfaces, and libdispatch's main queue.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

// SPDX-License-Identifier: Apache-2.0
#include <event2/event.h>

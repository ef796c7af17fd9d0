// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE 1
#include "CLull.h"

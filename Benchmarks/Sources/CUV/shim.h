// SPDX-License-Identifier: Apache-2.0
#include <uv.h>

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The shared library given loads libc and libgcc_s only, and shows nothing but its interface.
set -e
needed=$(readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v -x -E 'lib[cm]\.so\.6|libgcc_s\.so\.1|ld-linux-x86-64\.so\.2' || true)
[ -z "$needed" ] || { echo "it loads $needed"; exit 1; }
shown=$(nm -D --defined-only "$1" | awk '{ print $3 }' | grep -v -x -E 'l3_read_[a-z_]+@@L3_READ_1|L3_READ_1' || true)
[ -z "$shown" ] || { echo "it shows $shown"; exit 1; }

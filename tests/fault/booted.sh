#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs inside the container, where systemd is process 1: first a daemon whose start fails again and again, then one that works, that
# hangs, and that is killed. What it sees stands in /results, a line each: NAME VALUE.
unit=koto-l3d.service
say() { echo "$@" >>/results; }
of() { systemctl show --value -p "$1" $unit; }
now() { date +%s%N; }
# Until a property of the unit has a value, at most so many seconds.
wait_for() {
  tenths=$(($3 * 10))
  while [ "$(of "$1")" != "$2" ] && [ $tenths -gt 0 ]; do
    sleep 0.1
    tenths=$((tenths - 1))
  done
  [ "$(of "$1")" = "$2" ]
}
# Until it has been started anew and is ready.
wait_for_restart() { wait_for NRestarts "$1" 60 && wait_for ActiveState active 30; }

cp /config/missing.toml /etc/koto-l3/l3.toml
systemctl start $unit
wait_for ActiveState failed 60
say starts_in_the_storm "$(wc -l </starts)"
say storm_ended_as "$(of Result)"
sleep 3
say starts_after_it "$(wc -l </starts)"

cp /config/good.toml /etc/koto-l3/l3.toml
systemctl reset-failed $unit
begun=$(now)
systemctl start $unit && say ready_after $((($(now) - begun) / 1000000))
kill -STOP "$(of MainPID)"
wait_for_restart 1 && say restarted_by_watchdog 1
kill -KILL "$(of MainPID)"
wait_for_restart 2 && say restarted_after_kill 1
systemctl stop $unit
say stopped_as "$(of Result)"
systemctl poweroff --force

#!/usr/bin/env bash
# Boots the Debian in a folder: boot.sh ROOT. systemd is the first process of namespaces of its own (processes, mounts, network, control
# groups). It says "Booted PID" once the system runs, that process's, and switches it off at SIGTERM.
# As systemd wants it (systemd.io/CONTAINER_INTERFACE): /sys and /proc/sys can only be read, so that the machine around it stays as it is.
set -euo pipefail

PATIENCE_S=60

main() {
  if [[ ${2:-} == --inside ]]; then
    inside "$1"
  fi
  groups="$(mktemp -d)"
  mount -t cgroup2 none "$groups"
  group="$groups/millrace-test-$$"
  mkdir "$group"
  trap clean EXIT
  trap 'exit 0' TERM
  (echo "$BASHPID" >"$group/cgroup.procs" && exec unshare --pid --mount --uts --ipc --cgroup --net --fork --kill-child \
    "${BASH_SOURCE[0]}" "$1" --inside) &
  unshared=$!
  await "systemd is not started" started
  await "systemd does not come up" up
  echo "Booted $(first)"
  wait "$unshared"
}

started() { [[ "$(cat "/proc/$(first)/comm")" == systemd ]]; }

up() { [[ "$(nsenter --target "$(first)" --all systemctl is-system-running)" =~ running|degraded ]]; }

first() { tr -d ' ' <"/proc/$unshared/task/$unshared/children"; }

# await COMPLAINT CONDITION
await() {
  local deadline=$((SECONDS + PATIENCE_S))
  until "$2" 2>/dev/null; do
    if ! kill -0 "$unshared" || ((SECONDS > deadline)); then
      echo "$1" >&2
      exit 1
    fi
    sleep 0.1
  done
}

clean() {
  kill -KILL "$unshared" || true
  wait "$unshared" || true
  echo 1 >"$group/cgroup.kill"
  until [[ "$(cat "$group/cgroup.events")" == *"populated 0"* ]]; do sleep 0.05; done
  find "$group" -depth -type d -exec rmdir {} +
  umount "$groups"
  rmdir "$groups"
} 2>/dev/null

inside() {
  local root="$1" device
  mount --bind "$root" "$root"
  cd "$root"
  mount -t proc proc proc
  mount --bind proc/sys proc/sys
  mount -o remount,bind,ro proc/sys
  mount -t sysfs -o ro sysfs sys
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  mount -t tmpfs -o mode=755 tmpfs run
  mount -t tmpfs -o mode=755 tmpfs dev
  for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
  done
  mkdir dev/pts dev/shm
  mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts dev/pts
  mount -t tmpfs -o mode=1777 tmpfs dev/shm
  ln -s pts/ptmx dev/ptmx
  ln -s /proc/self/fd dev/fd
  # What is the machine's, or asks for more of it than a test needs.
  mkdir -p run/systemd/system
  for device in console-getty.service systemd-logind.service dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
    sys-fs-fuse-connections.mount apt-daily.timer apt-daily-upgrade.timer logrotate.timer; do
    ln -s /dev/null "run/systemd/system/$device"
  done
  hostname millrace-test
  ip link set lo up
  pivot_root . mnt
  umount -l mnt
  exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --show-status=no
}

main "$@"

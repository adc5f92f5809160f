# Sourced by the benchmarks: what a run uses must be there. As root on Debian it is installed; what measures nothing installs nothing.

missing=()

# need COMMAND-OR-FILE PACKAGE
need() {
  [[ $1 == /* && -e $1 ]] || command -v "$1" >/dev/null || missing+=("$2")
}

# is_said FLAGS ARGUMENT...: whether one of the flags, a regular expression, is among the arguments, perhaps with a value.
is_said() {
  [[ " ${*:2} " =~ " "($1)[\ =] ]]
}

# install_missing PROGRAM MEASURES: MEASURES is empty if the program will only say something.
install_missing() {
  ((${#missing[@]})) || return 0
  if ((EUID != 0)) || [[ ! $2 ]]; then
    echo "$1: missing: ${missing[*]} (as root: apt-get install ${missing[*]})" >&2
    exit 2
  fi
  # Debian starts servers with their packages; here they are programs, not services.
  local policy=/usr/sbin/policy-rc.d service
  if [[ ! -e $policy ]]; then
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
  if [[ -n $(trap -p EXIT) ]]; then
    rm -f "$policy"
    trap - EXIT
  fi
  for service in nginx haproxy h2o lighttpd caddy; do
    if [[ -d /run/systemd/system && " ${missing[*]} " == *" $service"* ]]; then
      systemctl disable --now "$service"
    fi
  done
}

# What the sections of docs/deployment.md are run with, behind section.sh: the files they name, and stand-ins for what a test must not do
# to the machine. A network and mounts of its own make the documents' ports and paths free. PROGRAM was published before, DEBIAN is the
# root of a fresh Debian.
ln -s "$REPOSITORY/deploy" deploy
mkdir -p out
cp "$PROGRAM" out/millrace

# What a section that failed leaves running.
end_all() {
  local left
  for left in $(jobs -p) $(cat ./*.pid 2>/dev/null); do
    kill -KILL "$left" 2>/dev/null || true
  done
}
trap end_all EXIT

# Done once for all tests.
dotnet() { [[ "$*" == "publish src/Millrace.Server -p:PublishProfile=SingleFile -o out" ]] || fail "dotnet $*"; }
deploy/container/base() { command buildah inspect --type image "$1" >/dev/null; }

# The document's Debian is a fresh one, without systemd: what the unit would start is started here, with its settings.
apt-get() {
  local arguments=("$@")
  if [[ $1 == install ]]; then
    cp packages/*.deb "$DEBIAN/"
    arguments[1]="/${2##*/}"
  fi
  chroot "$DEBIAN" env DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin apt-get -y "${arguments[@]}"
}

editor() {
  mkdir -p "$DEBIAN/srv/www"
  cp public/index.html "$DEBIAN/srv/www"
  sed -i 's|^SITE=.*|SITE=/srv/www|' "$DEBIAN$1"
}

systemctl() {
  [[ $* == "restart millrace" ]] || fail "systemctl $*"
  mount -t proc proc "$DEBIAN/proc"
  (
    source "$DEBIAN/etc/default/millrace"
    exec chroot "$DEBIAN" /usr/bin/millrace "$SITE" --listen 80 $OPTIONS
  ) >server.log 2>&1 &
  server=$!
  await server '^Serving srv/www'
  expect "curl -sI http://127.0.0.1/" <<<'HTTP/1.1 200 OK'
  stop server
  umount "$DEBIAN/proc"
}

# Where the machine's rights end, the container's limits have to be within them; crun refuses hosts with both kinds of cgroups.
podman() {
  local arguments=("$@")
  if [[ $1 == run ]]; then
    arguments=(run --ulimit "nofile=$(ulimit -Hn):$(ulimit -Hn)" --ulimit nproc=4096:4096 "${@:2}")
  fi
  command podman --runtime runc "${arguments[@]}"
  if [[ $1 == run ]]; then
    contained "${@:$#}"
  fi
}

# Until the newest container serves.
contained() {
  local deadline=$((SECONDS + 60))
  until command podman logs --latest 2>&1 | grep -q '^Serving '; do
    ((SECONDS < deadline)) || fail "$1 does not serve: $(command podman logs --latest 2>&1)"
    sleep 0.2
  done
}

# The check of the configuration, and then the proxy itself, with the three instances and a load that goes on to the end.
haproxy() {
  command haproxy "$@" || fail "the configuration is refused"
  echo "$server" >a.pid
  server=
  instance b 8082
  instance c 8083
  mount -t tmpfs tmpfs /run
  mkdir /run/haproxy
  command haproxy -db -f deploy/haproxy/haproxy.cfg >proxy.log 2>&1 &
  proxy=$!
  await_answer http://127.0.0.1/
  wrk -t 1 -c 16 -d 600 http://127.0.0.1/ >wrk.log 2>&1 &
  load=$!
  systemctl() { restart "$@"; }
  export PROGRAM
  export -f systemctl restart instance # for roll
}

# instance NAME PORT: starts one, and is back when it serves.
instance() {
  local deadline=$((SECONDS + 60))
  "$PROGRAM" ./public --listen "127.0.0.1:$2" --proxy-protocol --trusted-proxy 127.0.0.1 >"$1.log" 2>&1 &
  echo $! >"$1.pid"
  until grep -q '^Serving ' "$1.log"; do
    if ((SECONDS >= deadline)); then
      echo "$1 does not serve: $(cat "$1.log")" >&2
      exit 1
    fi
    sleep 0.05
  done
}

# What "systemctl restart millrace-a" would do, with Type=notify: it is back when the server serves.
restart() {
  local name="${2#millrace-}" old
  old="$(cat "$name.pid")"
  kill -TERM "$old"
  while kill -0 "$old" 2>/dev/null; do sleep 0.05; done
  case "$name" in
    a) instance a 8081 ;;
    b) instance b 8082 ;;
    c) instance c 8083 ;;
  esac
  echo "$name" >>restarted
}

await_answer() {
  local deadline=$((SECONDS + 30))
  until curl -sf -o /dev/null "$1"; do
    ((SECONDS < deadline)) || fail "$1 does not answer: $(cat ./*.log)"
    sleep 0.1
  done
}

# all_answered: ends the load; no request of it may have failed, nor any of the instances have been left out.
all_answered() {
  kill -INT "$load"
  wait "$load" || true
  kill -TERM "$proxy" "$(cat a.pid)" "$(cat b.pid)" "$(cat c.pid)"
  [[ "$(tr -d '\n' <restarted)" == abc ]] || fail "not all were restarted"
  [[ "$(sed -n 's/^ *\([0-9]*\) requests in.*/\1/p' wrk.log)" -gt 0 ]] || fail "there was no load: $(cat wrk.log)"
  if grep -E 'Socket errors|Non-2xx' wrk.log; then
    fail "requests failed: $(cat wrk.log proxy.log)"
  fi
}

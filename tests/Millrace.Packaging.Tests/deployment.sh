# What the sections of docs/deployment.md are run with, behind section.sh: the files they name, and stand-ins for what a test must not do
# to the machine. A network and mounts of its own make the documents' ports and paths free. PROGRAM was published before.
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
dotnet() { [[ "$*" == "publish src/Millrace.Server -p:PublishProfile=NativeAot -o out" ]] || fail "dotnet $*"; }
deploy/container/base() { command buildah inspect --type image "$1" >/dev/null; }

# Certificates for HAProxy are not to stay.
install() {
  mount -t tmpfs tmpfs /etc/haproxy
  command install "$@"
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

# The check of the configuration, and then the proxy itself, with the three instances and a load that goes on to the end: over HTTP it
# comes by connections that are kept, as HAProxy sees each request; what is passed through, by a connection each.
haproxy() {
  command haproxy "$@" || fail "the configuration is refused"
  stop server # who was only to show the command
  instance a
  instance b
  instance c
  mount -t tmpfs tmpfs /run
  mkdir /run/haproxy
  command haproxy -db "${@:2}" >proxy.log 2>&1 &
  proxy=$!
  case "$*" in
    *passthrough.cfg) await_answer https://127.0.0.1/ && ask_on https://127.0.0.1/ & ;;
    *https.cfg) await_answer https://127.0.0.1/ && exec wrk -t 1 -c 16 -d 600 https://127.0.0.1/ >load.log 2>&1 & ;;
    *) await_answer http://127.0.0.1/ && exec wrk -t 1 -c 16 -d 600 http://127.0.0.1/ >load.log 2>&1 & ;;
  esac
  load=$!
  await_load
  systemctl() { restart "$@"; }
  export PROGRAM
  export -f systemctl restart instance # for roll
}

# instance NAME: starts one, with the addresses of its letter, and is back when it serves.
instance() {
  local number deadline=$((SECONDS + 60))
  number=$(($(printf '%d' "'$1") - 96))
  "$PROGRAM" ./public --listen "127.0.0.1:808$number" --https "127.0.0.1:844$number" --cert site.pem --key site.key \
    --proxy-protocol --trusted-proxy 127.0.0.1 --access-log "$1.access" >"$1.log" 2>&1 &
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
  instance "$name"
  echo "$name" >>restarted
}

await_answer() {
  local deadline=$((SECONDS + 30))
  until curl -skf -o /dev/null "$1"; do
    ((SECONDS < deadline)) || fail "$1 does not answer: $(cat ./*.log)"
    sleep 0.1
  done
}

# ask_on URL: until there is enough; it says so in wrk's words.
ask_on() {
  local count=0
  until [[ -e enough ]]; do
    curl -sSf --cacert site.pem -o /dev/null "$1" || echo "Socket errors"
    count=$((count + 1))
  done >load.log 2>&1
  echo "  $count requests in all" >>load.log
}

# Until each instance has had some of the load.
await_load() {
  local name deadline=$((SECONDS + 30))
  for name in a b c; do
    until [[ "$(grep -c '"GET ' "$name.access")" -gt 10 ]]; do
      ((SECONDS < deadline)) || fail "$name is not asked: $(cat ./*.log)"
      sleep 0.1
    done
  done
}

# all_answered: ends the load; no request of it may have failed, nor any of the instances have been left out. Whose request it was is known.
all_answered() {
  local deadline=$((SECONDS + 30))
  curl -sSkL --interface 127.0.0.2 -o /dev/null http://127.0.0.1/ || fail "another client is not answered"
  until grep -q '^127.0.0.2 ' ./*.access; do
    ((SECONDS < deadline)) || fail "the client's address is not told: $(tail -n 1 ./*.access)"
    sleep 0.1
  done
  touch enough
  kill -INT "$load"
  wait "$load" || true
  kill -TERM "$proxy" "$(cat a.pid)" "$(cat b.pid)" "$(cat c.pid)"
  [[ "$(tr -d '\n' <restarted)" == abc ]] || fail "not all were restarted"
  [[ "$(sed -n 's/^ *\([0-9]*\) requests in.*/\1/p' load.log)" -gt 0 ]] || fail "there was no load: $(cat load.log)"
  if grep -E 'Socket errors|Non-2xx' load.log; then
    fail "requests failed: $(cat load.log proxy.log)"
  fi
}

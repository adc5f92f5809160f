# What the sections of documents are run with: bash's own name space for `millrace`, and a folder with a site in a network of its own.
# The script that is sourced into this calls `other`, `run` and `expect`; the first failure ends it.
set -euo pipefail
source "${BASH_SOURCE[0]%/*}/expect.sh"

PATIENCE_S=30
server=
other=

prepare() {
  ip link set lo up
  export HOME=$PWD
  cp -r "$SAMPLE_SITE" public
  rm -rf public/about public/404.html
  sed 's/<title>.*<\/title>/<title>About<\/title>/' public/index.html >public/about.html
  htpasswd -B -c -b users ada lovelace 2>/dev/null
  ADAS_HASH="$(sed -n 's/^ada://p' users)"
  export ADAS_HASH
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=mill.test \
    -addext subjectAltName=DNS:mill.test,IP:127.0.0.1 -out site.pem -keyout site.key 2>/dev/null
}

# millrace as a document calls it: it serves until the next one does, and is waited for until it listens. Commands, and whatever stands
# behind a prompt, are run to their end.
millrace() {
  local commands=' --help --version doctor check init schema precompress completions man probe '
  if ((BASH_SUBSHELL)) || [[ "$commands" == *" ${1:-.} "* ]]; then
    local status=0
    command "$PROGRAM" "$@" || status=$?
    # The doctor's 1 is about the host: it serves, and could be faster.
    [[ "$status ${1:-}" != '1 doctor' ]] || status=0
    return "$status"
  fi
  stop server
  # Here, not by the new process, which may be late: what the one before has said is not its answer.
  : >server.log
  command "$PROGRAM" "$@" >>server.log 2>&1 &
  server=$!
  await server '^(Serving|Listening) '
}

# other NAME FILE: the server that somebody comes from, with the snippet in FILE.
other() {
  sed "s|\$PWD|$PWD|g" "$2" >other.conf
  if [[ $1 == nginx ]]; then
    { echo "daemon off; user root; pid $PWD/nginx.pid; error_log stderr; events { }"
      echo "http { include /etc/nginx/mime.types; access_log off;"
      cat other.conf
      echo "}"; } >nginx.conf
    nginx -t -q -c "$PWD/nginx.conf"
    nginx -c "$PWD/nginx.conf" >other.log 2>&1 &
  else
    { printf '{\n  admin off\n  auto_https off\n}\n'
      cat other.conf; } >Caddyfile
    HOME=$PWD caddy run --adapter caddyfile --config Caddyfile >other.log 2>&1 &
  fi
  other=$!
  listening other
}

# await VARIABLE PATTERN: until its log has a line like that.
await() {
  local name="$1" deadline=$((SECONDS + PATIENCE_S))
  until grep -qE "$2" "$name.log"; do
    alive "$name" && ((SECONDS < deadline)) || fail "$name does not serve: $(cat "$name.log")"
    sleep 0.05
  done
}

# listening VARIABLE: until anybody listens for TCP here; the network is our own.
listening() {
  local name="$1" deadline=$((SECONDS + PATIENCE_S))
  until [[ -n "$(ss -Hltn)" ]]; do
    alive "$name" && ((SECONDS < deadline)) || fail "$name does not listen: $(cat "$name.log")"
    sleep 0.05
  done
}

alive() { kill -0 "${!1}" 2>/dev/null; }

stop() {
  if [[ -n "${!1}" ]]; then
    kill -TERM "${!1}"
    wait "${!1}" || fail "$1 ended with $?: $(cat "$1.log")"
    printf -v "$1" ''
  fi
}

prepare

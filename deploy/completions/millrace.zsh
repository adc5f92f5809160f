#compdef millrace
# Completions of millrace for zsh, written by 'millrace completions zsh'.

_millrace_commands() {
  local -a commands=(
    'check:Says what would be served, or what is wrong (exit status 2): the same flags, environment and file, without a server'
    'init:Writes a commented configuration file to begin with, never over another file'
    'schema:Prints the JSON Schema of configuration files, which editors complete from'
    'precompress:Writes .br and .gz files beside those that get smaller, where they are missing or older'
    'doctor:Says what of this host makes serving slower (exit status 1) or impossible (2), and what to do about it'
    'probe:Asks a server once: exit status 0 where it answers, 1 where it does not or with a status of 500 and above'
    'completions:Prints a shell'\''s completions: '\''source <(millrace completions bash)'\'' has them at once'
    'man:Prints the manual page: '\''millrace man | man -l -'\'' shows it'
  )
  _describe -t commands command commands
}

_millrace() {
  local curcontext="$curcontext" command=''
  local -a specs
  if (( CURRENT > 2 )); then
    case "${words[2]}" in
      'check'|'init'|'schema'|'precompress'|'doctor'|'probe'|'completions'|'man')
        command="${words[2]}"
        curcontext="${curcontext%:*}-$command:"
        shift words
        (( CURRENT-- ))
        ;;
    esac
  fi
  case "$command" in
    ''|'check'|'init'|'schema'|'precompress'|'doctor'|'probe'|'completions'|'man') specs+=(
      '(-h --help)-h[Show help and usage information]'
      '(-h --help)--help[Show help and usage information]'
    ) ;;
  esac
  case "$command" in
    '') specs+=(
      '--version[Show version information]'
    ) ;;
  esac
  case "$command" in
    ''|'check'|'doctor') specs+=(
      '--config=[Read options from a JSON file]:FILE:_files'
      '*-l=[Where to listen\: 8080 (all interfaces), 127.0.0.1\:8080, \[\:\:1\]\:8080 or unix\:/run/x.sock]:ADDR: '
      '*--listen=[Where to listen\: 8080 (all interfaces), 127.0.0.1\:8080, \[\:\:1\]\:8080 or unix\:/run/x.sock]:ADDR: '
      '*--host=[Serve another folder for a host, with the same options; ROOT answers for all others]:NAME=ROOT:_millrace_named_folder'
      '--reactors=[Reactor threads; 0 is one for each core this process may use]:N: '
      '--backend=[How the kernel is asked; auto is io_uring where a trial of it succeeds, else epoll]:auto|io_uring|epoll:(auto io_uring epoll)'
      '*--https=[Serve HTTPS there; --https alone is 127.0.0.1\:8443]::ADDR: '
      '*--cert=[A PEM file\: the certificate and those that lead to its root]:FILE:_files'
      '*--key=[The PEM file of a certificate'\''s private key]:FILE:_files'
      '*--key-password=[The file whose first line is the password of an encrypted key]:FILE:_files'
      '--https-redirect=[Send what comes to --listen to HTTPS]::on|off:(on off)'
      '--hsts=[Have browsers insist on HTTPS for so long (Strict-Transport-Security)]::SECONDS: '
      '--client-ca=[Serve only clients with a certificate of an authority in this PEM file]:FILE:_files'
      '--tls-key-log=[Append the secrets of all TLS connections to a file, for Wireshark]:FILE:_files'
      '*--proxy-protocol=[Connections to this address of --listen or --https begin with a preface of the PROXY protocol (version 1 or 2), from a --trusted-proxy; --proxy-protocol alone is all addresses]::ADDR: '
      '*--trusted-proxy=[A network that proxies connect from, as 10.0.0.0/8, or who comes by a unix socket\: they are believed whose requests they pass on]:CIDR|unix:(unix)'
      '--client-field=[The field that a --trusted-proxy adds the client'\''s address to]:x-forwarded-for|forwarded|none:(x-forwarded-for forwarded none)'
      '--unix-mode=[Who may connect to unix sockets, as chmod has it\: 0660]:OCTAL: '
      '--access-log=[Write a line for each request to a file (opened anew on SIGUSR1), the standard output or the system'\''s log]:FILE|-|syslog:{ compadd -- - syslog; _files }'
      '--access-log-format=[How the lines of the access log are written]:combined|common|json:(combined common json)'
      '--admin=[Show metrics, health and a live page there\: 9180 (this machine only), 0.0.0.0\:9180, \[\:\:\]\:9180 or unix\:/run/x.sock]:ADDR: '
      '*--admin-host=[A name by which the admin pages may be asked for, besides localhost and IP addresses]:NAME: '
      '--otlp=[Send metrics to an OpenTelemetry collector, over OTLP\: http\://127.0.0.1\:4318]:URL: '
      '--index=[File names that answer for a directory, the first that exists]:NAME,...: '
      '--dotfiles=[Whether names that start with a dot are served; /.well-known/ always is]:hide|serve:(hide serve)'
      '--spa=-[Page of a single-page application that answers, with status 200, what is not found and looks like a page]::PATH: '
      '--clean-urls=[Answer /about with about.html, and redirect /about.html there]::on|off:(on off)'
      '*--error-page=[File that is the body of errors of a status, if it exists; STATUS= for none]:STATUS=PATH: '
      '--listing=[List the files of directories without an index]::on|off:(on off)'
      '--charset=[Charset that content types of text name; '\''none'\'' for none]:NAME: '
      '*--mime=[Content type of files with an extension, before the built-in ones]:EXT=TYPE: '
      '*--cache-control=[Cache-Control of paths, the first that matches; else a year for names with a content hash, or no-cache]:GLOB=VALUE: '
      '*--header=[Response field of all paths, or of those that match; the last of a name replaces the others]:\[GLOB=\]Name\: value: '
      '--cors=[Let scripts of other sites read the files\: of these origins, or of any (*)]::ORIGIN,...: '
      '--security-headers=[Send a preset of security fields (nosniff, no framing by others, and more)]::on|off:(on off)'
      '--auth=[Ask for a name and password of this htpasswd file, for every path]:FILE:_files'
      '--realm=[What a browser shows when it asks for the password]:TEXT: '
      '*--redirect=[Redirect paths that have no file, with STATUS! also those that have one, as '\''/old/* /new/\:splat 301'\'']:FROM TO \[STATUS\]: '
      '*--rewrite=[Answer paths that have no file with another'\''s, as '\''/app/* /app.html'\'']:FROM TO: '
      '--site-files=[Take _headers and _redirects in the root for rules, and do not serve them]::on|off:(on off)'
      '--compress=[Compress files that gain from it, each once, in the background]::on|off:(on off)'
      '--compress-memory=[Memory for compressed files, in bytes]:BYTES: '
      '--watch=[How changes are noticed\: by inotify (auto\: where it works), by a look at each request, or only at SIGHUP]:auto|inotify|revalidate|off:(auto inotify revalidate off)'
      '--bake-max=[Largest file kept in memory, in bytes]:BYTES: '
      '--bake-memory=[Memory for files kept in memory, in bytes; auto is a site'\''s share of 256 MiB or a quarter of what there is]:BYTES:(auto)'
      '--ring-max=[Largest file that is read in one go, in bytes; larger ones are streamed]:BYTES: '
      '--sendfile=[Send large streamed files without a copy, all but their ends]::on|off:(on off)'
      '--hash-max=[How much is read to make entity tags of content, in bytes, the smallest files first]:BYTES: '
      '--descriptors=[Descriptors held open for files; auto is a site'\''s share of half of the process'\''s limit]:N:(auto)'
      '--entries-max=[Directory entries a walk of the root may meet]:N: '
      '--connections=[Connections at one time]:N: '
      '--connections-per-client=[Of those, connections of one IPv4 address or IPv6 /64; 0\: all]:N: '
      '--buffer-memory=[Memory for what is received and sent; 0\: a quarter of all there is]:BYTES: '
      '--keep-alive-timeout=[How long a connection may wait for its next request]:SECONDS: '
      '--head-timeout=[How long a request'\''s head may take from its first byte to its last]:SECONDS: '
      '--head-max=[How large a request'\''s head may be]:BYTES: '
      '--receive-timeout=[How long a client may be silent within a head or a body]:SECONDS: '
      '--receive-rate=[How much of a head or a body must come a second, on average; 0\: any]:BYTES: '
      '--send-timeout=[How long a client may take nothing of an answer that waits for it]:SECONDS: '
      '--send-rate=[How much of an answer must be taken a second, on average; 0\: any]:BYTES: '
      '--drain=[How long requests under way get to finish when the server is stopped]:SECONDS: '
      '--submission-entries=[Operations of a reactor that can be queued between two calls of the kernel]:N: '
      '--completion-entries=[Completions of a reactor that can wait; no fewer than operations]:N: '
      '--completions-per-turn=[Completions handled before the kernel is called again]:N: '
      '--receive-buffers=[Buffers that all connections of a reactor share for what arrives; a power of two]:N: '
      '--receive-buffer-size=[Size of one of these buffers]:BYTES: '
      '--one-shot-receive=[Ask the kernel for each piece of what arrives, instead of once for all that a connection brings]::on|off:(on off)'
      '--zero-copy-send=[Send so many bytes and more from the memory they stand in, without a copy; 0 for none]:BYTES: '
      '--registered-buffers=[Memory of each reactor that the kernel pins once\: files are read into it, and sent from it by --zero-copy-send; 0 for none]:BYTES: '
      '--registered-files=[Have each reactor find its sockets in a table of its own, and not in the one that all threads share]::on|off:(on off)'
      '--file-workers=[Kernel threads of a reactor that read what is not in the page cache]:N: '
      '--backlog=[Connections that the kernel queues before they are accepted, cut to net.core.somaxconn]:N: '
      '--refusals=[Connections beyond a limit that are answered 503 at one time; those beyond it too are reset]:N: '
      '--submission-polling=[How long a kernel thread of each reactor goes on looking for operations when none come, so that they need no system call; 0 for none]:MS: '
      '--shared-submission-polling=[Have all reactors share one such thread]::on|off:(on off)'
      '--busy-poll=[How long a wait looks at the network device itself before its interrupt is waited for, in microseconds; 0 for not at all]:US: '
      '--prefer-busy-poll=[Have the device leave its interrupts off meanwhile]::on|off:(on off)'
      '--pin-reactors=[Keep each reactor on a core of its own, of those that the process may use]::on|off:(on off)'
      '--congestion-control=[What decides how fast TCP connections send, of those in net.ipv4.tcp_available_congestion_control\: bbr, say]:NAME: '
      '--stall-watch=[Watch for reactors that are held up, log it, and have others take their new connections]::on|off:(on off)'
      '--user=[Serve as this user, from when addresses are bound and certificates are read]:NAME\[\:GROUP\]: '
      '--seccomp=[Refuse, while serving, system calls that a server has no use for\: programs, processes, mounts, debugging]::on|off:(on off)'
    ) ;;
  esac
  case "$command" in
    'precompress') specs+=(
      '--prune[Remove coded files whose original is gone\: a .br of a type that is compressed, and a .gz beside such a .br]'
    ) ;;
  esac
  case "$command" in
    'doctor') specs+=(
      '--json[Print the findings as JSON]'
    ) ;;
  esac
  case "$command" in
    'probe') specs+=(
      '--timeout=[Seconds until it is given up]:SECONDS: '
    ) ;;
  esac
  case "$command" in
    '') specs+=(
      '1:ROOT:_millrace_first'
    ) ;;
  esac
  case "$command" in
    'check') specs+=(
      '1:FILE:_files'
    ) ;;
  esac
  case "$command" in
    'init') specs+=(
      '1:FILE:_files'
    ) ;;
  esac
  case "$command" in
    'precompress') specs+=(
      '1:DIR:_files -/'
    ) ;;
  esac
  case "$command" in
    'doctor') specs+=(
      '1:ROOT:_files -/'
    ) ;;
  esac
  case "$command" in
    'probe') specs+=(
      '1:URL: '
    ) ;;
  esac
  case "$command" in
    'completions') specs+=(
      '1:SHELL:(bash fish zsh)'
    ) ;;
  esac
  _arguments -S : "${specs[@]}"
}

# NAME=FOLDER
_millrace_named_folder() {
  if compset -P '*='; then
    _files -/
  else
    _message -e names 'NAME=ROOT'
  fi
}

_millrace_first() {
  (( CURRENT == 2 )) && _millrace_commands
  _files -/
}

# compinit calls the file by its name; who sources it wants it for later.
if [[ ${funcstack[1]} == _millrace ]]; then
  _millrace "$@"
elif (( $+functions[compdef] )); then
  compdef _millrace millrace
else
  print -u2 -r -- "millrace: zsh completes nothing yet: run 'autoload -Uz compinit && compinit' first."
fi

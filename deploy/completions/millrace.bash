# Completions of millrace for bash, written by 'millrace completions bash'. They need bash 4.4 and no other package.

_millrace_commands=('check' 'init' 'schema' 'precompress' 'doctor' 'probe' 'completions' 'man')

# _millrace_flags COMMAND: adds its flags to flags.
_millrace_flags() {
  case "$1" in
    ''|'check'|'init'|'schema'|'precompress'|'doctor'|'probe'|'completions'|'man') flags+=(
      '-h' '--help'
    ) ;;
  esac
  case "$1" in
    '') flags+=(
      '--version'
    ) ;;
  esac
  case "$1" in
    ''|'check'|'doctor') flags+=(
      '--config'
      '-l' '--listen'
      '--host'
      '--reactors'
      '--backend'
      '--https'
      '--cert'
      '--key'
      '--key-password'
      '--https-redirect'
      '--hsts'
      '--client-ca'
      '--tls-key-log'
      '--proxy-protocol'
      '--trusted-proxy'
      '--client-field'
      '--unix-mode'
      '--access-log'
      '--access-log-format'
      '--admin'
      '--admin-host'
      '--otlp'
      '--index'
      '--dotfiles'
      '--spa'
      '--clean-urls'
      '--error-page'
      '--listing'
      '--charset'
      '--mime'
      '--cache-control'
      '--header'
      '--cors'
      '--security-headers'
      '--auth'
      '--realm'
      '--redirect'
      '--rewrite'
      '--site-files'
      '--compress'
      '--compress-memory'
      '--watch'
      '--bake-max'
      '--bake-memory'
      '--ring-max'
      '--sendfile'
      '--hash-max'
      '--descriptors'
      '--entries-max'
      '--connections'
      '--connections-per-client'
      '--buffer-memory'
      '--keep-alive-timeout'
      '--head-timeout'
      '--head-max'
      '--receive-timeout'
      '--receive-rate'
      '--send-timeout'
      '--send-rate'
      '--drain'
      '--submission-entries'
      '--completion-entries'
      '--completions-per-turn'
      '--receive-buffers'
      '--receive-buffer-size'
      '--one-shot-receive'
      '--zero-copy-send'
      '--registered-buffers'
      '--registered-files'
      '--file-workers'
      '--backlog'
      '--refusals'
      '--submission-polling'
      '--shared-submission-polling'
      '--busy-poll'
      '--prefer-busy-poll'
      '--pin-reactors'
      '--congestion-control'
      '--stall-watch'
      '--user'
      '--seccomp'
    ) ;;
  esac
  case "$1" in
    'precompress') flags+=(
      '--prune'
    ) ;;
  esac
  case "$1" in
    'doctor') flags+=(
      '--json'
    ) ;;
  esac
  case "$1" in
    'probe') flags+=(
      '--timeout'
    ) ;;
  esac
}

# _millrace_is_repeatable FLAG: whether it can be told more than once.
_millrace_is_repeatable() {
  _millrace_is_one_of "$1" '-l' '--listen' '--host' '--https' '--cert' '--key' '--key-password' '--proxy-protocol' '--trusted-proxy' '--admin-host' '--error-page' '--mime' '--cache-control' '--header' '--redirect' '--rewrite'
}

# _millrace_value FLAG: says of its value the place, the choices and the paths.
_millrace_value() {
  place='' paths=''
  choices=()
  case "$1" in
    '--config') place=needed paths=files ;;
    '-l'|'--listen') place=needed ;;
    '--host') place=needed paths=folders-behind-name ;;
    '--reactors') place=needed ;;
    '--backend') place=needed choices+=('auto' 'io_uring' 'epoll') ;;
    '--https') place=behind ;;
    '--cert') place=needed paths=files ;;
    '--key') place=needed paths=files ;;
    '--key-password') place=needed paths=files ;;
    '--https-redirect') place=behind choices+=('on' 'off') ;;
    '--hsts') place=behind ;;
    '--client-ca') place=needed paths=files ;;
    '--tls-key-log') place=needed paths=files ;;
    '--proxy-protocol') place=behind ;;
    '--trusted-proxy') place=needed choices+=('unix') ;;
    '--client-field') place=needed choices+=('x-forwarded-for' 'forwarded' 'none') ;;
    '--unix-mode') place=needed ;;
    '--access-log') place=needed choices+=('-' 'syslog') paths=files ;;
    '--access-log-format') place=needed choices+=('combined' 'common' 'json') ;;
    '--admin') place=needed ;;
    '--admin-host') place=needed ;;
    '--otlp') place=needed ;;
    '--index') place=needed ;;
    '--dotfiles') place=needed choices+=('hide' 'serve') ;;
    '--spa') place=attached ;;
    '--clean-urls') place=behind choices+=('on' 'off') ;;
    '--error-page') place=needed ;;
    '--listing') place=behind choices+=('on' 'off') ;;
    '--charset') place=needed ;;
    '--mime') place=needed ;;
    '--cache-control') place=needed ;;
    '--header') place=needed ;;
    '--cors') place=behind ;;
    '--security-headers') place=behind choices+=('on' 'off') ;;
    '--auth') place=needed paths=files ;;
    '--realm') place=needed ;;
    '--redirect') place=needed ;;
    '--rewrite') place=needed ;;
    '--site-files') place=behind choices+=('on' 'off') ;;
    '--compress') place=behind choices+=('on' 'off') ;;
    '--compress-memory') place=needed ;;
    '--watch') place=needed choices+=('auto' 'inotify' 'revalidate' 'off') ;;
    '--bake-max') place=needed ;;
    '--bake-memory') place=needed choices+=('auto') ;;
    '--ring-max') place=needed ;;
    '--sendfile') place=behind choices+=('on' 'off') ;;
    '--hash-max') place=needed ;;
    '--descriptors') place=needed choices+=('auto') ;;
    '--entries-max') place=needed ;;
    '--connections') place=needed ;;
    '--connections-per-client') place=needed ;;
    '--buffer-memory') place=needed ;;
    '--keep-alive-timeout') place=needed ;;
    '--head-timeout') place=needed ;;
    '--head-max') place=needed ;;
    '--receive-timeout') place=needed ;;
    '--receive-rate') place=needed ;;
    '--send-timeout') place=needed ;;
    '--send-rate') place=needed ;;
    '--drain') place=needed ;;
    '--submission-entries') place=needed ;;
    '--completion-entries') place=needed ;;
    '--completions-per-turn') place=needed ;;
    '--receive-buffers') place=needed ;;
    '--receive-buffer-size') place=needed ;;
    '--one-shot-receive') place=behind choices+=('on' 'off') ;;
    '--zero-copy-send') place=needed ;;
    '--registered-buffers') place=needed ;;
    '--registered-files') place=behind choices+=('on' 'off') ;;
    '--file-workers') place=needed ;;
    '--backlog') place=needed ;;
    '--refusals') place=needed ;;
    '--submission-polling') place=needed ;;
    '--shared-submission-polling') place=behind choices+=('on' 'off') ;;
    '--busy-poll') place=needed ;;
    '--prefer-busy-poll') place=behind choices+=('on' 'off') ;;
    '--pin-reactors') place=behind choices+=('on' 'off') ;;
    '--congestion-control') place=needed ;;
    '--stall-watch') place=behind choices+=('on' 'off') ;;
    '--user') place=needed ;;
    '--seccomp') place=behind choices+=('on' 'off') ;;
    '--timeout') place=needed ;;
  esac
}

# _millrace_argument COMMAND: says what it takes besides flags.
_millrace_argument() {
  case "$1" in
    '') paths=folders ;;
    'check') paths=files ;;
    'init') paths=files ;;
    'precompress') paths=folders ;;
    'doctor') paths=folders ;;
    'completions') choices+=('bash' 'fish' 'zsh') ;;
  esac
}

_millrace() {
  local words=() command='' argument='' literal='' place='' paths='' word flag i
  local flags=() choices=() used=()
  _millrace_words
  local cur="${words[-1]}" last=$((${#words[@]} - 1))
  COMPREPLY=()

  # What stands in front of the word at the cursor; then place is about the flag right before it.
  for ((i = 1; i < last; i++)); do
    word="${words[i]}"
    if [[ $place == needed || ($place == behind && $word != -*) ]]; then
      place=''
      continue
    fi
    place=''
    if [[ -z $literal && $word == -- ]]; then
      literal=yes
    elif [[ -z $literal && $word == -* ]]; then
      flag="${word%%[=:]*}"
      used+=("$flag")
      if [[ $flag == "$word" ]]; then
        _millrace_value "$flag"
      fi
    elif ((i == 1)) && _millrace_is_one_of "$word" "${_millrace_commands[@]}"; then
      command="$word"
    else
      argument="$word"
    fi
  done

  if [[ $place == needed ]]; then
    _millrace_offer "$cur"
  elif [[ -z $literal && $cur == -*=* ]]; then
    flag="${cur%%=*}"
    _millrace_value "$flag"
    _millrace_offer "${cur#*=}"
    if [[ $COMP_WORDBREAKS != *=* ]]; then
      COMPREPLY=("${COMPREPLY[@]/#/"$flag="}")
    fi
  elif [[ -z $literal && $cur == -* ]]; then
    _millrace_flags "$command"
    _millrace_offer_flags "$cur"
  else
    # A flag that may stand alone leaves its words in choices.
    [[ $place == behind ]] || choices=()
    paths=''
    [[ -n $argument ]] || _millrace_argument "$command"
    ((last > 1)) || choices+=("${_millrace_commands[@]}")
    _millrace_offer "$cur"
  fi
}

# The line up to the cursor as words. Bash ends some at ':' and '=' too.
_millrace_words() {
  local rest="${COMP_LINE:0:COMP_POINT}" piece i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    if ((i == 0)) || [[ $rest == [[:space:]]* ]]; then
      words+=('')
      rest="${rest#"${rest%%[![:space:]]*}"}"
    fi
    piece="${COMP_WORDS[i]}"
    if ((i == COMP_CWORD)); then
      piece="$rest"
    fi
    words[-1]+="$piece"
    rest="${rest#"$piece"}"
  done
}

# _millrace_offer TEXT: the choices that begin with it, and paths.
_millrace_offer() {
  local choice
  for choice in "${choices[@]}"; do
    if [[ $choice == "$1"* ]]; then
      COMPREPLY+=("$choice")
    fi
  done
  case "$paths" in
    files)
      if ((${#COMPREPLY[@]} == 0)); then
        compopt -o default
      else
        compopt -o filenames
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$1")
      fi
      ;;
    folders)
      if ((${#COMPREPLY[@]} == 0)); then
        compopt -o dirnames
      else
        compopt -o filenames -o plusdirs
      fi
      ;;
    folders-behind-name)
      # Readline takes what begins with a quote for one word, as in '*.example.org=./people'.
      if [[ $1 == [\'\"]*=* ]]; then
        local name="${1%%=*}"
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -P "${name:1}=" -- "${1#*=}")
      elif [[ $1 == *=* ]]; then
        compopt -o dirnames
      fi
      ;;
  esac
}

# _millrace_offer_flags TEXT: those that begin with it, and can be told once more.
_millrace_offer_flags() {
  local flag
  for flag in "${flags[@]}"; do
    if [[ $flag == "$1"* ]] && ! { _millrace_is_one_of "$flag" "${used[@]}" && ! _millrace_is_repeatable "$flag"; }; then
      COMPREPLY+=("$flag")
    fi
  done
}

# _millrace_is_one_of WORD WORD...
_millrace_is_one_of() {
  local other
  for other in "${@:2}"; do
    if [[ $1 == "$other" ]]; then
      return 0
    fi
  done
  return 1
}

complete -F _millrace millrace

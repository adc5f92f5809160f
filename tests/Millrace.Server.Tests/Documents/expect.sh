# What a command in a document is held to. Letters may be of any case, as the names of fields may.
shopt -s nocasematch

# expect COMMAND: its output must have the lines of stdin, in their order; ... stands for anything.
expect() {
  local output line rest
  output="$(eval "$1" 2>&1 | tr -d '\r')" || true
  rest="$output"
  while IFS= read -r line; do
    until [[ "${rest%%$'\n'*}" == $(pattern "$line") ]]; do
      [[ "$rest" == *$'\n'* ]] || fail "'$1' does not say '$line', ${other:+asked of the other server, }but: $output"
      rest="${rest#*$'\n'}"
    done
  done
}

# pattern TEXT: the glob for a line, in any case of letters.
pattern() {
  local text
  text="$(sed 's/[][\\*?]/\\&/g; s/\.\.\./*/g' <<<"$1")"
  printf '%s' "$text"
}

fail() {
  echo "$*" >&2
  exit 1
}

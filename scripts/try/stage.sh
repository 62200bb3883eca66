# What ./try shows, runs and checks. Sourced by it.

# open_stage: the temporary folder, colours, and the end of everything whatever happens
open_stage() {
  stage=$(mktemp -d "${TMPDIR:-/tmp}/address-try.XXXXXX")
  began=$SECONDS
  bold='' dim='' green='' red='' plain='' live=''
  if [ -t 1 ]; then
    live=1
    if [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
      bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m'
    fi
  fi
  exec 7>&1 8>&2   # Ctrl-C may come while output goes elsewhere
  trap close_stage EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

close_stage() {
  local status=$?
  trap '' INT TERM HUP
  set +e
  exec >&7 2>&8
  leave_cluster
  end_processes
  if [ "$status" = 1 ]; then
    echo "The logs are in $stage" >&2
  else
    rm -rf "$stage"
  fi
}

say() { printf '%s\n' "$*"; }
act() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; tell "$2"; }
# tell TEXT: prose, wrapped
tell() { printf '%s\n' "$1" | fold -s -w 100 | sed 's/ *$//'; }

# give_up TEXT: the story does not hold
give_up() {
  printf '%s✗ %s%s\n' "$red" "$1" "$plain" >&2
  exit 1
}

# show COMMAND: shows it as a user would type it, runs exactly that, shows what came back. Must succeed.
show() {
  printf '\n  %s$ %s%s\n' "$bold" "$1" "$plain"
  local status=0
  eval "$1" >"$stage/answer" 2>&1 || status=$?
  sed 's/^/  /' "$stage/answer"
  [ "$status" = 0 ] || give_up "This command ended with $status."
}
# show_file FILE: what is in a manifest, as far as it matters
show_file() { printf '\n  %s# %s%s\n' "$dim" "$1" "$plain"; grep -v '^#' "$1" | sed "s/^/  $dim/; s/\$/$plain/"; }

# proved TEXT: what an act has shown, after its checks
proved() { printf '\n%s✓%s ' "$green" "$plain"; tell "$1"; }

# same WHAT WANTED FOUND: a check
same() { [ "$2" = "$3" ] || give_up "$1: it should be '$2' and is '$3'."; }
# eventually SECONDS WHAT WANTED COMMAND...: a check of what a command prints, asked until it is so
eventually() {
  local limit=$1 what=$2 wanted=$3 found='' end; shift 3
  end=$((SECONDS + limit))
  while :; do
    found=$("$@" 2>>"$stage/checks.log") || found="(no answer)"
    [ "$found" != "$wanted" ] || return 0
    [ "$SECONDS" -lt "$end" ] || give_up "$what: it should be '$wanted' within $limit seconds and is '$found'."
    sleep 0.1
  done
}
# field PATH KIND [NAME] [-n NAMESPACE]: a JSONPath of an object or a list
field() { local path=$1; shift; $client get "$@" -o "jsonpath=$path"; }

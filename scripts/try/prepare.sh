# Installing, building, starting and ending what ./try needs. Sourced by it.

worker='' sandbox=''
made=''   # whether a story that has not ended may have left something in somebody's cluster

# progress TEXT LOG: shows how far the worker is until it ends; returns its status
progress() {
  local text=$1 log=$2 since=$SECONDS told=-1 steps done_ total percent status=0
  while kill -0 "$worker" 2>/dev/null; do
    steps=$(tail -c 4000 "$log" | grep -oE '^\[[0-9]+/[0-9]+\]' | tail -n 1 | tr -d '[]') || steps=''
    done_=${steps%/*} total=${steps#*/} percent=''
    # The few steps in which ninja looks at the build description itself are no progress.
    [ "${total:-0}" -lt 5 ] || percent=$((done_ * 100 / total))
    if [ -n "$live" ]; then
      printf '\r\e[K%s: %s%d s' "$text" "${percent:+$percent % of $total steps, }" "$((SECONDS - since))"
    elif [ -n "$percent" ] && [ $((percent / 20)) -gt "$told" ]; then
      told=$((percent / 20)); say "$text: $percent % of $total steps, $((SECONDS - since)) s"
    fi
    sleep 0.2
  done
  [ -z "$live" ] || printf '\r\e[K'
  wait "$worker" || status=$?
  worker=''
  return "$status"
}

# work TEXT LOG COMMAND...: runs it in the background under a progress line
work() {
  local text=$1 log=$2; shift 2
  : >"$log"
  "$@" >"$log" 2>&1 </dev/null 9>&- & worker=$!
  progress "$text" "$log" && return
  tail -n 30 "$log" >&2
  give_up "$text failed."
}

binaries='address-controller metallb-iad address-sandbox kubectl-address'
# refresh: builds what has changed since the last build; false if there was none, or it takes more than a compiler.
# A build with nothing to do is how we know that build/bin is up to date, and takes a moment.
refresh() {
  local name stale='' log=$stage/build.log
  command -v ninja >/dev/null && [ -f build/release/build.ninja ] || return 1
  : >"$log"
  setsid setpriv --pdeathsig TERM ninja -C build/release binaries >"$log" 2>&1 </dev/null 9>&- & worker=$!
  progress "Building" "$log" || return 1
  for name in $binaries; do
    [ -x "build/bin/$name" ] && ! [ "build/release/bin/$name" -nt "build/bin/$name" ] || stale=1
  done
  if [ -n "$stale" ]; then
    rm -rf build/bin; mkdir -p build/bin; cp -p build/release/bin/* build/bin/
    say "Built what had changed, in $((SECONDS - began)) s."
  else
    say "build/bin is up to date: ninja found nothing to do."
  fi
}

have_binaries() {
  if [ -n "$bin" ]; then
    [ -z "$cluster" ] || binaries=kubectl-address   # it has the others
    for name in $binaries; do [ -x "$bin/$name" ] || give_up "$bin/$name is missing."; done
    return
  fi
  bin=$PWD/build/bin
  mkdir -p build
  exec 9>build/try.lock   # two at once: one builds, the other waits
  flock -n 9 || { say "Another ./try is building; waiting for it."; flock 9; }
  if ! refresh; then
    say "Building build/bin. The first time takes a few minutes; the next ./try takes seconds."
    if [ "$(id -u)" = 0 ]; then
      work "Installing packages" "$stage/install.log" scripts/install build test
    else
      scripts/install build test || give_up "Packages are missing."   # it may ask for a password
    fi
    work "Building" "$stage/build.log" setsid setpriv --pdeathsig TERM ./check --build
    for name in $binaries; do [ -x "$bin/$name" ] || give_up "The build made no $bin/$name."; done
    say "Built in $((SECONDS - began)) s."
  fi
  exec 9>&-
}

have_client() {
  if [ -z "$own" ] && command -v kubectl >/dev/null; then
    client=kubectl
    # "kubectl address" is this project's client as a plugin.
    PATH=$bin:$PATH
  else
    client=$bin/kubectl-address
    client=${client#"$PWD/"}
    [ -n "$own" ] || say "There is no kubectl here; this project's own client knows the same commands."
  fi
}

have_cluster() {
  export KUBECONFIG=$cluster
  if [ -n "$cluster" ]; then
    [ -r "$cluster" ] || give_up "Cannot read $cluster."
    $client get namespaces >"$stage/answer" 2>&1 || { cat "$stage/answer" >&2; give_up "The cluster of $cluster does not answer."; }
    have_room
    return
  fi
  KUBECONFIG=$stage/sandbox/kubeconfig
  export KUBECACHEDIR=$stage/kubectl-cache   # kubectl would remember this server in the home folder for ever
  # It ends with us, even if we are killed.
  setsid setpriv --pdeathsig TERM "$bin/address-sandbox" --dir "$stage/sandbox" >"$stage/sandbox.log" 2>&1 </dev/null & sandbox=$!
  local tries
  for tries in $(seq 150); do
    [ -f "$KUBECONFIG" ] && $client get namespaces >"$stage/answer" 2>&1 && break
    kill -0 "$sandbox" 2>/dev/null || { tail -n 5 "$stage/sandbox.log" >&2; give_up "The sandbox ended."; }
    [ "$tries" != 150 ] || { cat "$stage/answer" >&2; give_up "The sandbox did not come up in 15 seconds."; }
    sleep 0.1
  done
  say "A sandbox runs: an API server in memory, a model of MetalLB, and both controllers, in processes of their own."
  show_picture
}

# A cluster of somebody's: a second default class would leave claims of others without one, and what is there already is not ours.
have_room() {
  local name
  name=$(awk '$1 == "namespace/demo-iad" || $1 == "demo-iad" {print $1}' "$stage/answer")
  [ -z "$name" ] || give_up "The cluster has a namespace demo-iad already; the story needs that name."
  $client get ipaddressclasses.local.sdn.cozystack.io -o yaml >"$stage/answer" 2>&1 ||
    { cat "$stage/answer" >&2; give_up "The cluster does not know IPAddressClasses: apply crds/ and start both controllers first."; }
  ! grep -qE 'is-default-class: .?true' "$stage/answer" ||
    give_up "The cluster has a default class; with the story's own there would be two, and claims that name none would wait."
  ! grep -qE '^    name: demo(-retain)?$' "$stage/answer" || give_up "The cluster has a class demo or demo-retain already; the story needs those names."
  $client get ipam -A -o name >"$stage/answer" 2>&1 || { cat "$stage/answer" >&2; give_up "The cluster does not show its addresses."; }
  [ ! -s "$stage/answer" ] || { head -n 5 "$stage/answer" >&2; give_up "The cluster has classes, addresses or claims already; the story counts them, and needs a cluster without."; }
}

# A story that ended early takes away what it has made; at its own end it has done so.
leave_cluster() {
  [ -n "$made" ] || return 0
  say "Taking away what the story has made in the cluster."
  local log=$stage/clean-up.log left
  $client delete namespace demo-iad --ignore-not-found --timeout=30s >"$log" 2>&1
  for name in $($client get ipaddr -o name 2>>"$log"); do   # there were none before
    $client delete "$name" --ignore-not-found --timeout=30s >>"$log" 2>&1
  done
  $client delete ipclass demo demo-retain --ignore-not-found --timeout=30s >>"$log" 2>&1
  if left=$( { $client get namespaces -o name && $client get ipam -A -o name; } 2>>"$log"); then
    left=$(grep -E '^(namespace/demo-iad|ipaddress.*)$' <<<"$left")
    [ -n "$left" ] || { say "Nothing of it is left."; return; }
  else
    left="what it has cannot be seen"
  fi
  printf '%s✗ It could not be taken away: %s%s\n' "$red" "${left//$'\n'/, }" "$plain" >&2
  say "Once both controllers run, these do it:
  $client delete namespace demo-iad; $client delete ipaddr --all; $client delete ipclass demo demo-retain"
}

# Where a browser shows the sandbox (docs/page.md).
show_picture() {
  local picture
  picture=$(sed -n 's/^  picture  *//p' "$stage/sandbox.log")
  [ -z "$picture" ] || say "To watch it in a browser: $picture"
}

# Ends one process group that we started, and waits until it is gone.
end_process() {
  local pid=$1
  kill -TERM -- "-$pid" 2>/dev/null || kill -TERM "$pid" 2>/dev/null || return 0
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
  kill -KILL -- "-$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
}
end_processes() {
  [ -z "$worker" ] || end_process "$worker"
  [ -z "$sandbox" ] || end_process "$sandbox"
}

# stay: the sandbox goes on until Ctrl-C
stay() {
  local ours=${bin#"$PWD/"}/kubectl-address
  [ "$client" = kubectl ] || ours=$client
  printf '\n%sThe sandbox is yours now.%s In another terminal, in this folder:\n\n' "$bold" "$plain"
  say "  export KUBECONFIG=$KUBECONFIG"
  say "  $client apply -f scripts/try/class.yaml"
  say "  $ours claim mine"
  say "  $client get ipam -A"
  say
  show_picture
  say "Ctrl-C ends it."
  wait "$sandbox" || true
  sandbox=''
  give_up "The sandbox ended by itself."
}

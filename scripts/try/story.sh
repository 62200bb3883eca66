# The story that ./try tells: one address, from its claim to its recycling. Sourced by it; $client is kubectl or what stands in for it.

pin=metallb.io/loadBalancerIPs
pinned=metallb.drivers.local.sdn.cozystack.io/pinned
of_address=metallb.drivers.local.sdn.cozystack.io/ip-address

play_story() {
  local since=$SECONDS
  [ -z "$cluster" ] || made=1
  act_1_claim
  act_2_attach
  act_3_hand_over
  act_4_thief
  act_5_keep
  act_6_end
  made=''
  printf '\n%sAll six acts held, in %d seconds.%s\n' "$bold" "$((SECONDS - since))" "$plain"
}

# The Services that hold addresses, one line each: name and what it shows.
holds() { field '{range .items[*]}{.metadata.name} {.status.loadBalancer.ingress[*].ip}{"\n"}{end}' service -n "$IAD_NS"; }
# The hold of an address object: its uid.
hold_of() { field '{.items[*].metadata.uid}' service -n "$IAD_NS" -l "$of_address=$1"; }
shown_by() { field '{.status.loadBalancer.ingress[*].ip}' service "$1" -n demo-iad; }
attached_to() { field '{.status.associatedTo.name}' ipaddr "$1"; }
phase_of() { field '{.status.phase}' ipaddr "$1"; }
names_of() { $client get "$@" -o name; }

act_1_claim() {
  act "Act 1: an address, and nobody uses it yet" \
    "An administrator makes a class: a range of addresses and a driver that provides them."
  show_file scripts/try/class.yaml
  show "$client apply -f scripts/try/class.yaml"
  eventually 60 "The pool that the driver makes of the class" 10.242.42.1-10.242.42.254 field '{.spec.addresses[*]}' ipaddresspool iad-demo -n "$METALLB_NS"
  eventually 60 "The advertisement" iad-demo field '{.spec.ipAddressPools[*]}' l2advertisement iad-demo -n "$METALLB_NS"
  same "Whether MetalLB gives from the pool to anybody" false "$(field '{.spec.autoAssign}' ipaddresspool iad-demo -n "$METALLB_NS")"
  show "$client get ipaddresspools,l2advertisements -n $METALLB_NS"
  proved "The driver has turned it into a pool of MetalLB's, without the network and broadcast address, from which MetalLB gives nothing by itself."

  tell "
A tenant claims an address. No class is named: there is a default one."
  show "$client apply -f scripts/try/namespace.yaml"
  show_file scripts/try/claim.yaml
  show "$client apply -f scripts/try/claim.yaml"
  show "$client wait ipclaim/web -n demo-iad --for=jsonpath='{.status.phase}'=Bound --timeout=120s"
  show "$client get ipclaim -n demo-iad"
  show "$client get ipaddr"
  ip=$(field '{.status.addresses[*].address}' ipclaim web -n demo-iad)
  address=$(field '{.status.addresses[*].name}' ipclaim web -n demo-iad)
  [[ $ip =~ ^10\.242\.42\.[0-9]+$ ]] || give_up "The claim has '$ip', which is not one address of the class."
  same "The class of the claim" demo "$(field '{.status.className}' ipclaim web -n demo-iad)"
  same "The phase of $address" Bound "$(phase_of "$address")"
  same "The policy of $address" Delete "$(field '{.spec.reclaimPolicy}' ipaddr "$address")"
  same "The owner of $address" demo-iad/web "$(field '{.spec.claimRef.namespace}/{.spec.claimRef.name}' ipaddr "$address")"
  same "What $address is attached to" '' "$(attached_to "$address")"
  proved "$ip belongs to the claim. The IPAddress object is the entry in the inventory: whose it is, and that nothing uses it."

  tell "
Who keeps it from being given away? MetalLB does, for a Service that nobody ever reaches."
  show "$client get services -n $IAD_NS"
  same "The Services that hold addresses" "$(names_of service -n "$IAD_NS" | sed 's|.*/||') $ip" "$(holds)"
  same "The selector of that Service" '' "$(field '{.items[*].spec.selector}' service -n "$IAD_NS")"
  same "What is behind it" '' "$(names_of endpointslices -n "$IAD_NS")"
  proved "It has no selector and no endpoints, so no node announces $ip: it is reserved, and silent."
}

act_2_attach() {
  act "Act 2: a Service takes it" \
    "A workload, and a Service of type LoadBalancer that names the claim in an annotation. Nothing else about it is special."
  show_file scripts/try/web.yaml
  show "$client apply -f scripts/try/web.yaml"
  show "$client wait service/web -n demo-iad --for=jsonpath='{.status.loadBalancer.ingress[0].ip}'=$ip --timeout=60s"
  show "$client get service web -n demo-iad"
  eventually 60 "What $address is attached to" web attached_to "$address"
  eventually 60 "The Services that hold addresses" '' holds
  show "$client get ipaddr"
  show "$client get events -n demo-iad --field-selector involvedObject.name=web,reason=Associated"
  same "The pin on the Service" "$ip" "$(field "{.metadata.annotations.${pin//./\\.}}" service web -n demo-iad)"
  same "The driver's mark on the Service" true "$(field "{.metadata.annotations.${pinned//./\\.}}" service web -n demo-iad)"
  [ -n "$(names_of events -n demo-iad --field-selector involvedObject.name=web,reason=Associated)" ] || give_up "There is no event Associated on service web."
  proved "The Service shows $ip, the address is attached to it, and the Service that held it is gone: it is not needed now."
}

act_3_hand_over() {
  act "Act 3: the Service goes, the address stays" \
    "The tenant deletes the Service. With a plain LoadBalancer the address would be anybody's now."
  show "$client delete service web -n demo-iad"
  eventually 60 "The Service that holds $address" "$ip" field '{.items[*].status.loadBalancer.ingress[*].ip}' service -n "$IAD_NS" -l "$of_address=$address"
  eventually 60 "What $address is attached to" '' attached_to "$address"
  show "$client get services -n $IAD_NS"
  show "$client get ipaddr"
  same "The phase of $address" Bound "$(phase_of "$address")"
  proved "$ip is held again, and still belongs to the claim."

  tell "
Another Service names the same claim."
  show "$client apply -f scripts/try/web2.yaml"
  show "$client wait service/web2 -n demo-iad --for=jsonpath='{.status.loadBalancer.ingress[0].ip}'=$ip --timeout=60s"
  show "$client get service web2 -n demo-iad"
  eventually 60 "What $address is attached to" web2 attached_to "$address"
  proved "The same address. The lifetime of an address is that of its claim, not that of a Service."
}

act_4_thief() {
  act "Act 4: a thief" \
    "Somebody asks MetalLB for $ip by name, without a claim."
  show_file scripts/try/thief.yaml
  show "sed s/ADDRESS/$ip/ scripts/try/thief.yaml | $client apply -f -"
  eventually 60 "Whether MetalLB says who has $ip" yes thief_is_told
  show "$client get events -n demo-iad --field-selector involvedObject.name=thief,reason=AllocationFailed"
  tell "
Five seconds later:"
  local end=$((SECONDS + 5))
  while [ "$SECONDS" -lt "$end" ]; do
    same "What the thief shows" '' "$(shown_by thief)"
    sleep 0.5
  done
  show "$client get services -n demo-iad"
  same "What service web2 shows" "$ip" "$(shown_by web2)"
  same "The phase of $address" Bound "$(phase_of "$address")"
  proved "The thief gets nothing, and web2 notices nothing."
  show "$client delete service thief -n demo-iad"
}
thief_is_told() {
  local told
  told=$(field '{.items[*].message}' events -n demo-iad --field-selector involvedObject.name=thief,reason=AllocationFailed)
  [[ $told == *demo-iad/web2* ]] && echo yes || echo no
}

act_5_keep() {
  act "Act 5: an address that outlives its claim" \
    "A class with the policy Retain, and a claim that names it."
  show_file scripts/try/class-retain.yaml
  show "$client apply -f scripts/try/class-retain.yaml -f scripts/try/keeper.yaml"
  show "$client wait ipclaim/keeper -n demo-iad --for=jsonpath='{.status.phase}'=Bound --timeout=120s"
  kept=$(field '{.status.addresses[*].name}' ipclaim keeper -n demo-iad)
  kept_ip=$(field '{.status.addresses[*].address}' ipclaim keeper -n demo-iad)
  eventually 60 "The Service that holds $kept" "$kept_ip" field '{.items[*].status.loadBalancer.ingress[*].ip}' service -n "$IAD_NS" -l "$of_address=$kept"
  local hold
  hold=$(hold_of "$kept")
  tell "
The claim is deleted."
  show "$client delete ipclaim keeper -n demo-iad"
  show "$client wait ipaddr/$kept --for=jsonpath='{.status.phase}'=Released --timeout=60s"
  show "$client get ipaddr"
  same "Whose $kept was" demo-iad/keeper "$(field '{.spec.claimRef.namespace}/{.spec.claimRef.name}' ipaddr "$kept")"
  same "The Service that holds it" "$hold" "$(hold_of "$kept")"
  proved "$kept_ip is Released: still held, still marked with its last owner, and nobody's until an administrator says so."

  tell "
The administrator clears the mark."
  show "$client patch ipaddr $kept --type merge -p '{\"spec\":{\"claimRef\":null}}'"
  show "$client wait ipaddr/$kept --for=jsonpath='{.status.phase}'=Available --timeout=60s"
  show "$client get ipaddr"
  same "The Service that holds it" "$hold" "$(hold_of "$kept")"
  tell "
It is Available, and one claim may ask for exactly this one."
  show "sed s/ADDRESS/$kept/ scripts/try/keeper-2.yaml | $client apply -f -"
  show "$client wait ipclaim/keeper-2 -n demo-iad --for=jsonpath='{.status.phase}'=Bound --timeout=60s"
  show "$client get ipclaim -n demo-iad"
  same "The address of claim keeper-2" "$kept_ip" "$(field '{.status.addresses[*].address}' ipclaim keeper-2 -n demo-iad)"
  same "The owner of $kept" keeper-2 "$(field '{.spec.claimRef.name}' ipaddr "$kept")"
  same "The Service that holds it" "$hold" "$(hold_of "$kept")"
  proved "Through all of this one and the same Service held $kept_ip: there was no moment in which it was free."
}

act_6_end() {
  act "Act 6: the end leaves nothing" \
    "The namespace goes, with claims, Services and all."
  show "$client delete namespace demo-iad --timeout=120s"
  eventually 60 "The addresses of class demo" '' names_of ipaddr --field-selector spec.className=demo
  eventually 60 "The phase of $kept" Released phase_of "$kept"
  show "$client get ipaddr"
  proved "No finalizer hung. What has the policy Delete went with its claim; what has Retain is left, as it should be. It goes when an administrator deletes it."
  show "$client delete ipaddr $kept --timeout=60s"
  show "$client delete ipclass demo demo-retain --timeout=60s"
  eventually 60 "The Services that hold addresses" '' holds
  eventually 60 "The pools of the classes" '' names_of ipaddresspools,l2advertisements -n "$METALLB_NS" -l metallb.drivers.local.sdn.cozystack.io/class
  show "$client get ipam,ipaddresspools -A"
  same "What is left" '' "$(names_of ipam -A)"
  proved "Nothing is left: no address, no pool, no Service that holds one."
}

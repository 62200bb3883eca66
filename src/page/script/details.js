// All about one address.
import { element, quoted } from "./dom.js";
import { clean, clock, ownerText, STATES, stateName } from "./text.js";

// What is known about an address, as [label, text] pairs. Pure. `claims`: Map "namespace/name" -> claim.
export function factsOf(info, claims) {
  const facts = [["State", `${stateName(info.state)}: ${STATES.find(([key]) => key === info.state)?.[2] ?? ""}`]];
  const address = info.objects[0];
  if (address) facts.push(["Object", clean(address.metadata.name, 253)], ["Class", clean(info.className, 253)]);
  if (info.deleting) facts.push(["Deletion", "asked for; what still depends on it is waited for"]);
  if (info.claim) facts.push(["Claim", claimText(info.claim, claims)]);
  if (info.workload) facts.push(["Attached to", clean(info.workload.kind, 63) + " " + ownerText(info.workload)]);
  const shown = info.users.filter((user) => !user.placeholder).map(ownerText);
  const holds = info.users.filter((user) => user.placeholder).map(ownerText);
  if (shown.length > 0) facts.push(["Shown by Service", shown.join(", ")]);
  if (holds.length > 0) facts.push(["Kept by placeholder", holds.join(", ")]);
  if (info.workload && shown.length === 0) facts.push(["On the wire", "not yet: no Service shows it"]);
  if (address) facts.push(["When the claim goes", policyText(address)]);
  if (address?.metadata.creationTimestamp) facts.push(["In the ledger since", clock(address.metadata.creationTimestamp)]);
  for (const other of info.objects.slice(1)) facts.push(["Same IP, other object", clean(other.metadata.name, 253)]);
  return facts;
}

function claimText(ref, claims) {
  const name = ownerText(ref);
  const claim = claims.get(ref.namespace + "/" + ref.name);
  if (!claim) return name + " (does not exist)";
  if (ref.uid && ref.uid !== claim.metadata.uid) return name + " (an earlier claim of that name)";
  return name + ", " + clean(claim.status?.phase ?? "Pending", 16);
}

function policyText(address) {
  return address.spec.reclaimPolicy === "Delete" ? "Delete: it is given back" : "Retain: it stays as Released";
}

// The conditions of the address and its claim that say something is not as it should be, or why.
export function remarksOf(info, claims) {
  const claim = info.claim && claims.get(info.claim.namespace + "/" + info.claim.name);
  const conditions = [...(info.objects[0]?.status?.conditions ?? []), ...(claim?.status?.conditions ?? [])];
  return conditions
    .filter((condition) => condition.message)
    .map(({ type, status, reason, message }) => {
      // Drivers' types have the driver's name before a slash.
      const short = clean(type, 316).replace(/^.*\//, "");
      return `${short} is ${clean(status, 8)} (${clean(reason, 128)}): ${clean(message)}`;
    });
}

export function commandsOf(info) {
  const commands = info.objects.slice(0, 1).map((address) => "kubectl describe ipaddr " + clean(address.metadata.name, 253));
  if (info.claim) commands.push(`kubectl describe ipclaim ${clean(info.claim.name, 253)} -n ${clean(info.claim.namespace, 63)}`);
  if (info.workload?.kind === "Service")
    commands.push(`kubectl describe service ${clean(info.workload.name, 253)} -n ${clean(info.workload.namespace, 63)}`);
  return commands;
}

export class DetailsView {
  #key = null;
  #from = null;

  // `region` holds a heading, a close button and a body; `closed()` is called when the user is done.
  constructor({ region, heading, close, body, closed }) {
    Object.assign(this, { region, heading, body, closed });
    close.addEventListener("click", () => this.close());
    region.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  get key() {
    return this.#key;
  }

  // Opens on an address; `from` gets the focus back.
  open(key, from) {
    this.#key = key;
    this.#from = from;
    this.region.hidden = false;
  }

  focus() {
    this.heading.focus();
  }

  close() {
    if (this.#key === null) return;
    const key = this.#key;
    this.#key = null;
    this.region.hidden = true;
    this.closed(key, this.#from);
  }

  render(info, claims) {
    if (this.#key === null) return;
    const facts = factsOf(info, claims);
    const remarks = remarksOf(info, claims);
    const commands = commandsOf(info);
    const content = JSON.stringify([info.text, facts, remarks, commands]);
    if (content === this.content) return;
    this.content = content;
    this.heading.replaceChildren(quoted(info.text));
    const list = element("dl", {});
    for (const [label, text] of facts) list.append(element("dt", {}, label), element("dd", {}, quoted(text)));
    const parts = [list];
    if (remarks.length > 0) parts.push(element("h3", {}, "What the controllers say"), lines(remarks, "p"));
    if (commands.length > 0) parts.push(element("h3", {}, "To see more"), lines(commands, "code"));
    this.body.replaceChildren(...parts);
  }
}

function lines(texts, name) {
  return element("ul", { class: "lines" }, ...texts.map((text) => element("li", {}, element(name, {}, quoted(text)))));
}

// From objects of the cluster to what is shown. Pure: arrays of objects in, plain values out.
import { addressKey, contains, countRanges, formatAddress, mergeRanges, parseAddress, rangeSize } from "./ip.js";
import { METALLB_PROVISIONER, rangesOfClass } from "./parameters.js";
import { clean, ownerText, stateName } from "./text.js";

const PLACEHOLDER_LABEL = METALLB_PROVISIONER + "/placeholder";
const DEFAULT_ANNOTATION = "ipaddressclass.local.sdn.cozystack.io/is-default-class";
// More ranges than this are not drawn one by one.
const MOST_SECTIONS = 64;

// Which of several objects for one IP is shown: the one that most depends on it.
const PRECEDENCE = ["Bound", "Conflict", "Lost", "Released", "Available", "Pending"];

// The state of an IPAddress object (contract §1, §4).
export function stateOfAddress(address) {
  switch (address.status?.phase) {
    case "Conflict": return "conflict";
    case "Lost": return "lost";
    case "Released": return "released";
    case "Bound": return address.status.associatedTo ? "attached" : "held";
    case "Available": return address.spec.claimRef ? "reserved" : "available";
    default: return "pending";
  }
}

// Every address that somebody has or uses: {known: Map key -> info, odd: [info without an IP]}.
export function collectAddresses(addresses, services) {
  const known = new Map();
  const odd = [];
  const at = (ip) => {
    const key = addressKey(ip.family, ip.value);
    let info = known.get(key);
    if (!info) {
      const text = formatAddress(ip.family, ip.value);
      info = { key, family: ip.family, value: ip.value, text, state: "", className: "", claim: null, workload: null };
      Object.assign(info, { users: [], objects: [], deleting: false });
      known.set(key, info);
    }
    return info;
  };
  for (const address of addresses) {
    const ip = parseAddress(address.spec?.address);
    if (ip) at(ip).objects.push(address);
    else odd.push(oddInfo(address));
  }
  for (const service of services) {
    for (const entry of service.status?.loadBalancer?.ingress ?? []) {
      const ip = parseAddress(entry.ip);
      if (ip) at(ip).users.push(userOf(service));
    }
  }
  for (const info of known.values()) complete(info);
  return { known, odd };
}

function userOf(service) {
  const { namespace, name, labels } = service.metadata;
  return { namespace, name, placeholder: labels?.[PLACEHOLDER_LABEL] === "true" };
}

function oddInfo(address) {
  const text = clean(address.spec?.address ?? address.metadata.name, 64);
  const info = { key: "odd/" + address.metadata.name, family: 0, value: 0n, text, users: [], objects: [address] };
  return complete(info);
}

function rank(address) {
  const position = PRECEDENCE.indexOf(address.status?.phase);
  return position < 0 ? PRECEDENCE.length : position;
}

function complete(info) {
  info.objects.sort((a, b) => rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
  const address = info.objects[0];
  if (address) {
    info.state = stateOfAddress(address);
    info.className = String(address.spec?.className ?? "");
    info.claim = address.spec?.claimRef ?? null;
    info.workload = address.status?.associatedTo ?? null;
    info.deleting = Boolean(address.metadata.deletionTimestamp);
  } else {
    info.state = info.users.every((user) => user.placeholder) ? "pending" : "foreign";
    info.className = "";
    info.claim = null;
    info.workload = null;
    info.deleting = false;
  }
  return info;
}

function inOrder(a, b) {
  return a.family - b.family || (a.value < b.value ? -1 : a.value > b.value ? 1 : 0);
}

function indexOf(infos, family, value) {
  let low = 0;
  let high = infos.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (inOrder(infos[middle], { family, value }) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The infos (sorted) that lie in a range.
export function inRange(infos, range) {
  const { family, first, last } = range;
  return infos.slice(indexOf(infos, family, first), indexOf(infos, family, last + 1n));
}

function countStates(infos) {
  const counts = new Map();
  for (const info of infos) counts.set(info.state, (counts.get(info.state) ?? 0n) + 1n);
  return counts;
}

function addSections(view, infos) {
  const drawn = view.entries.length > MOST_SECTIONS ? view.entries.slice(0, MOST_SECTIONS) : view.entries;
  view.sections = drawn.map((range) => ({ ranges: [range], family: range.family, infos: inRange(infos, range) }));
  const rest = view.entries.slice(drawn.length);
  if (rest.length > 0)
    view.sections.push({ ranges: rest, family: 0, infos: mergeRanges(rest).flatMap((range) => inRange(infos, range)) });
  for (const section of view.sections) {
    section.size = section.ranges.reduce((sum, range) => sum + rangeSize(range), 0n);
  }
}

// Numbers of a class: usable addresses by family, and how many are in each state. Free is what of the usable ones nobody has.
function addCounts(view) {
  const inside = view.sections.flatMap((section) => section.infos);
  view.counts = countStates([...inside, ...view.outside]);
  const total = countRanges(view.usable, 4) + countRanges(view.usable, 6);
  const taken = inside.filter((info) => contains(view.usable, info.family, info.value));
  view.totals = [4, 6].map((family) => {
    const count = countRanges(view.usable, family);
    return { family, count, free: count - BigInt(taken.filter((info) => info.family === family).length) };
  });
  view.counts.set("free", total - BigInt(taken.length));
  const size = view.sections.reduce((sum, section) => sum + section.size, 0n);
  view.counts.set("excluded", size - total - BigInt(inside.length - taken.length));
}

function troubles(cls) {
  const bad = (cls.status?.conditions ?? []).filter((condition) => condition.status === "False");
  return bad.map((condition) => ({ reason: clean(condition.reason, 128), message: clean(condition.message, 2048) }));
}

// Why a claim waits: the condition that says most.
export function reasonOfClaim(claim) {
  const conditions = claim.status?.conditions ?? [];
  const bad = (type) => conditions.find((condition) => condition.type === type && condition.status === "False");
  const why = bad("ClassResolved") ?? bad("Provisioning") ?? bad("Bound");
  return why ? { reason: clean(why.reason, 128), message: clean(why.message, 1024) } : { reason: "", message: "" };
}

function waitingClaims(claims) {
  const byClass = new Map();
  for (const claim of claims) {
    if (claim.status?.phase === "Bound") continue;
    const name = claim.status?.className || claim.spec?.className || "";
    if (!byClass.has(name)) byClass.set(name, []);
    byClass.get(name).push({
      namespace: clean(claim.metadata.namespace, 63),
      name: clean(claim.metadata.name, 253),
      family: clean(claim.spec?.family ?? "IPv4", 16),
      phase: clean(claim.status?.phase ?? "Pending", 16),
      ...reasonOfClaim(claim),
    });
  }
  return byClass;
}

function viewOfClass(name, cls, infos, odd, claims) {
  const ranges = cls ? rangesOfClass(cls) : { entries: [], usable: [], origin: "gone" };
  const view = { name, exists: Boolean(cls), ...ranges, claims };
  view.isDefault = cls?.metadata.annotations?.[DEFAULT_ANNOTATION] === "true";
  view.provisioner = clean(cls?.spec?.provisioner, 253);
  view.reclaimPolicy = clean(cls?.spec?.reclaimPolicy ?? (cls ? "Retain" : ""), 16);
  view.troubles = cls ? troubles(cls) : [];
  view.deleting = Boolean(cls?.metadata.deletionTimestamp);
  addSections(view, infos);
  const covered = mergeRanges(view.entries);
  const mine = infos.filter((info) => info.className === name && info.objects.length > 0);
  view.outside = [...mine.filter((info) => !contains(covered, info.family, info.value)), ...odd];
  addCounts(view);
  return view;
}

const byName = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// What the page shows: {classes: [view], homeless: [claims without a class], known: Map key -> info}.
export function buildModel({ classes, addresses, claims, services }) {
  const { known, odd } = collectAddresses(addresses, services);
  const infos = [...known.values()].sort(inOrder);
  const waiting = waitingClaims(claims);
  const objects = new Map(classes.map((cls) => [cls.metadata.name, cls]));
  const names = new Set(objects.keys());
  for (const info of [...infos, ...odd]) if (info.objects.length > 0) names.add(info.className);
  const views = [...names].sort(byName).map((name) => {
    const mine = odd.filter((info) => info.className === name);
    return viewOfClass(name, objects.get(name), infos, mine, waiting.get(name) ?? []);
  });
  views.sort((a, b) => Number(b.isDefault) - Number(a.isDefault));
  const homeless = [...waiting].filter(([name]) => !names.has(name)).flatMap(([, list]) => list);
  return { classes: views, homeless, known };
}

// What became different between two models, as sentences in address order: [{key, text, warning}].
export function changesBetween(before, after) {
  const changes = [];
  const say = (info, was) => {
    const owner = info.claim ? " for " + ownerText(info.claim) : "";
    const to = info.workload ? " to " + clean(info.workload.kind, 63) + " " + ownerText(info.workload) : "";
    const text = `${info.text}: ${stateName(was)} → ${stateName(info.state)}${owner}${to}`;
    changes.push({ key: info.key, text, warning: info.state === "conflict" || info.state === "lost" });
  };
  for (const [key, info] of after.known) {
    if (!ours(after, info)) continue;
    const was = before.known.get(key);
    if (!was) say(info, "free");
    else if (was.state !== info.state || ownerText(was.claim) !== ownerText(info.claim)) say(info, was.state);
  }
  for (const [key, was] of before.known) {
    if (after.known.has(key) || !ours(before, was)) continue;
    say({ ...was, state: "free", claim: null, workload: null }, was.state);
  }
  return changes;
}

// Addresses of Services that have nothing to do with any class are nobody's news.
function ours(model, info) {
  return info.objects.length > 0 || model.classes.some((view) => contains(view.usable, info.family, info.value));
}

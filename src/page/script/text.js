// Words. Everything that comes from the cluster goes through clean() before it is shown.

const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

// Text of unknown origin, fit to be shown: characters that hide or reorder others are made visible, and it ends somewhere.
export function clean(text, limit = 1024) {
  if (text === null || text === undefined) return "";
  const safe = String(text).slice(0, limit + 1).replace(UNPRINTABLE, "\ufffd");
  return safe.length > limit ? safe.slice(0, limit) + "…" : safe;
}

// 18446744073709551616 -> "18,446,744,073,709,551,616", exactly.
export function formatCount(count) {
  return count.toString().replace(/\B(?=([0-9]{3})+$)/g, ",");
}

export function plural(count, one, many) {
  return formatCount(count) + " " + (count === 1 || count === 1n ? one : many);
}

// Every state of a cell, in the order of legends: [key, name, what it means].
export const STATES = [
  ["attached", "attached", "bound to a claim, and announced for a Service"],
  ["held", "held", "bound to a claim and reserved; no Service uses it"],
  ["available", "available", "reserved, and free for the next claim"],
  ["reserved", "set aside", "kept for a claim that does not exist yet"],
  ["released", "released", "its claim is gone; an administrator decides what follows"],
  ["pending", "pending", "on its way: being allocated, or not usable yet"],
  ["conflict", "conflict", "somebody else uses it"],
  ["lost", "lost", "MetalLB, or another backend, no longer reserves it"],
  ["foreign", "not in the ledger", "a Service uses it without a claim"],
  ["free", "free", "nobody has it"],
  ["excluded", "excluded", "never handed out"],
];
const STATE_NAMES = new Map(STATES.map(([key, name]) => [key, name]));

export function stateName(state) {
  return STATE_NAMES.get(state) ?? state;
}

export function ownerText(ref) {
  return ref ? clean(ref.namespace, 63) + "/" + clean(ref.name, 253) : "";
}

// "203.0.113.7, attached: claim shop/web, Service shop/web": what a screen reader says for a cell, and the line below the map.
export function describe(info) {
  const parts = [];
  if (info.claim) parts.push("claim " + ownerText(info.claim));
  if (info.workload) parts.push(clean(info.workload.kind, 63) + " " + ownerText(info.workload));
  for (const user of info.users) {
    const same = info.workload && user.namespace === info.workload.namespace && user.name === info.workload.name;
    if (!same && !user.placeholder) parts.push("shown by Service " + ownerText(user));
  }
  if (info.deleting) parts.push("being deleted");
  if (info.objects.length > 1) parts.push(info.objects.length + " objects");
  return info.text + ", " + stateName(info.state) + (parts.length > 0 ? ": " + parts.join(", ") : "");
}

// One sentence about many changes, for the live region: the last two in full, the others as a number.
export function announcement(lines) {
  if (lines.length === 0) return "";
  const shown = lines.slice(-2).join(". ");
  return lines.length > 2 ? `${plural(lines.length - 2, "change", "changes")} before. ${shown}.` : shown + ".";
}

// "14:03:07" of a timestamp in local time; with the date if it is not of today.
export function clock(timestamp, now = new Date()) {
  const at = new Date(timestamp);
  if (Number.isNaN(at.getTime())) return "";
  const two = (n) => String(n).padStart(2, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (at.toDateString() === now.toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

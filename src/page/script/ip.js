// Addresses and ranges as values. An address is {family: 4 | 6, value: BigInt}; a range is {family, first, last} with BigInt ends,
// both included. IPv4-mapped IPv6 is the IPv4 address, as in the contract.

const MAPPED = 0xffffn << 32n;

function parseIPv4(text) {
  const parts = text.split(".");
  if (parts.length !== 4) return null;
  let value = 0n;
  for (const part of parts) {
    if (!/^(0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255) return null;
    value = (value << 8n) | BigInt(part);
  }
  return value;
}

// The groups of one side of "::", or null.
function parseGroups(text) {
  if (text === "") return [];
  const parts = text.split(":");
  const groups = [];
  for (let i = 0; i < parts.length; ++i) {
    if (i === parts.length - 1 && parts[i].includes(".")) {
      const tail = parseIPv4(parts[i]);
      if (tail === null) return null;
      groups.push(tail >> 16n, tail & 0xffffn);
    } else if (/^[0-9a-fA-F]{1,4}$/.test(parts[i])) {
      groups.push(BigInt("0x" + parts[i]));
    } else {
      return null;
    }
  }
  return groups;
}

function parseIPv6(text) {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const head = parseGroups(halves[0]);
  const tail = halves.length === 2 ? parseGroups(halves[1]) : [];
  if (head === null || tail === null) return null;
  // A dotted quad may only stand at the very end.
  if (halves.length === 2 && halves[0].includes(".")) return null;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  return [...head, ...Array(missing).fill(0n), ...tail].reduce((value, group) => (value << 16n) | group, 0n);
}

// Reads one address without zone or prefix length; null if it is none.
export function parseAddress(text) {
  if (typeof text !== "string" || text.length > 64) return null;
  if (!text.includes(":")) {
    const value = parseIPv4(text);
    return value === null ? null : { family: 4, value };
  }
  const value = parseIPv6(text);
  if (value === null) return null;
  return value >> 32n === MAPPED >> 32n ? { family: 4, value: value & 0xffffffffn } : { family: 6, value };
}

// The canonical text (RFC 5952, never with a dotted quad in it).
export function formatAddress(family, value) {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
  const groups = [];
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push((value >> shift) & 0xffffn);
  let best = { at: -1, length: 1 };
  for (let i = 0; i < 8; ++i) {
    let end = i;
    while (end < 8 && groups[end] === 0n) ++end;
    if (end - i > best.length) best = { at: i, length: end - i };
  }
  const hex = (list) => list.map((group) => group.toString(16)).join(":");
  if (best.at < 0) return hex(groups);
  return hex(groups.slice(0, best.at)) + "::" + hex(groups.slice(best.at + best.length));
}

export function addressKey(family, value) {
  return family + "/" + value.toString(16);
}

// Reads a network, "first-last" or one address: {family, first, last, length}, where length is the prefix length of a network
// and null otherwise. Host bits are masked. Null if it is none of these.
export function parseRange(text) {
  if (typeof text !== "string") return null;
  const body = text.trim();
  const slash = body.indexOf("/");
  const dash = body.indexOf("-");
  if (dash >= 0) {
    const first = parseAddress(body.slice(0, dash).trim());
    const last = parseAddress(body.slice(dash + 1).trim());
    if (!first || !last || first.family !== last.family || last.value < first.value) return null;
    return { family: first.family, first: first.value, last: last.value, length: null };
  }
  if (slash < 0) {
    const one = parseAddress(body);
    return one && { family: one.family, first: one.value, last: one.value, length: null };
  }
  const base = parseAddress(body.slice(0, slash));
  const digits = body.slice(slash + 1);
  if (!base || !/^(0|[1-9][0-9]{0,2})$/.test(digits)) return null;
  const bits = base.family === 4 ? 32 : 128;
  const length = Number(digits);
  // A mapped base with an IPv6 length means something else than it says.
  if (length > bits || (base.family === 4 && body.includes(":"))) return null;
  const size = 1n << BigInt(bits - length);
  const first = base.value - (base.value % size);
  return { family: base.family, first, last: first + size - 1n, length };
}

export function formatRange(range) {
  const first = formatAddress(range.family, range.first);
  if (range.first === range.last) return first;
  if (range.length !== null && range.length !== undefined) return first + "/" + range.length;
  return first + " – " + formatAddress(range.family, range.last);
}

export function rangeSize(range) {
  return range.last - range.first + 1n;
}

function byPosition(a, b) {
  if (a.family !== b.family) return a.family - b.family;
  return a.first < b.first ? -1 : a.first > b.first ? 1 : 0;
}

// Sorted, disjoint, neighbours joined.
export function mergeRanges(ranges) {
  const merged = [];
  for (const { family, first, last } of [...ranges].sort(byPosition)) {
    const top = merged[merged.length - 1];
    if (top && top.family === family && first <= top.last + 1n) {
      if (last > top.last) top.last = last;
    } else {
      merged.push({ family, first, last });
    }
  }
  return merged;
}

// `ranges` without `holes`; both merged, and so is the answer.
export function subtractRanges(ranges, holes) {
  const pieces = [];
  let next = 0;
  for (const range of ranges) {
    let first = range.first;
    while (next < holes.length && endsBefore(holes[next], range.family, first)) ++next;
    for (let i = next; i < holes.length && holes[i].family === range.family && holes[i].first <= range.last; ++i) {
      if (holes[i].first > first) pieces.push({ family: range.family, first, last: holes[i].first - 1n });
      if (holes[i].last >= first) first = holes[i].last + 1n;
    }
    if (first <= range.last) pieces.push({ family: range.family, first, last: range.last });
  }
  return pieces;
}

function endsBefore(range, family, value) {
  return range.family < family || (range.family === family && range.last < value);
}

// Whether merged `ranges` contain the address.
export function contains(ranges, family, value) {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (endsBefore(ranges[middle], family, value)) low = middle + 1;
    else high = middle;
  }
  return low < ranges.length && ranges[low].family === family && ranges[low].first <= value;
}

export function sameRanges(a, b) {
  const same = (x, y) => x.family === y.family && x.first === y.first && x.last === y.last;
  return a.length === b.length && a.every((range, i) => same(range, b[i]));
}

export function countRanges(ranges, family) {
  return ranges.reduce((sum, range) => (range.family === family ? sum + rangeSize(range) : sum), 0n);
}

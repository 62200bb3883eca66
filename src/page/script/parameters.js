// Which addresses a class has. The driver's word is status.ranges; the parameters tell more (what is excluded, in which order
// entries are used), so they are drawn where both say the same.
import { mergeRanges, parseRange, sameRanges, subtractRanges } from "./ip.js";

export const METALLB_PROVISIONER = "metallb.drivers.local.sdn.cozystack.io";
const MOST_ENTRIES = 4096;

function readList(value) {
  if (!Array.isArray(value) || value.length > MOST_ENTRIES) return null;
  const ranges = value.map(parseRange);
  return ranges.includes(null) ? null : ranges;
}

// What can be handed out of an entry: network and broadcast address of an IPv4 network shorter than /31 are kept back.
function usableOf(entry, includeNetworkAddresses) {
  const { family, first, last, length } = entry;
  if (family === 4 && length !== null && length < 31 && !includeNetworkAddresses)
    return { family, first: first + 1n, last: last - 1n };
  return { family, first, last };
}

// Reads the parameters of a class as the MetalLB driver does: {entries, usable}, entries as written and in their order, usable
// merged. Null where the driver would refuse the addresses; what else it refuses is not looked at.
export function readParameters(parameters) {
  if (parameters === null || typeof parameters !== "object" || Array.isArray(parameters)) return null;
  const entries = readList(parameters.addresses);
  const excludes = parameters.exclude === undefined ? [] : readList(parameters.exclude);
  const include = parameters.includeNetworkAddresses ?? false;
  if (!entries || entries.length === 0 || !excludes || typeof include !== "boolean") return null;
  const all = mergeRanges(entries);
  if (overlap(entries)) return null;
  const usable = subtractRanges(mergeRanges(entries.map((entry) => usableOf(entry, include))), mergeRanges(excludes));
  return usable.length === 0 || all.length === 0 ? null : { entries, usable };
}

function overlap(entries) {
  const sorted = [...entries].sort((a, b) => a.family - b.family || (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  return sorted.some((entry, i) => i > 0 && sorted[i - 1].family === entry.family && entry.first <= sorted[i - 1].last);
}

// {entries, usable, origin} of an IPAddressClass. origin: "parameters" (in force, or not yet seen by the driver), "status" (only
// the driver's list is to be had, or the parameters are not what is in force), "none" (the class does not say).
export function rangesOfClass(cls) {
  const parsed = cls.spec?.provisioner === METALLB_PROVISIONER ? readParameters(cls.spec.parameters) : null;
  const listed = Array.isArray(cls.status?.ranges) ? cls.status.ranges.map(parseRange).filter((range) => range) : null;
  if (listed === null || listed.length === 0) {
    if (parsed) return { ...parsed, origin: "parameters" };
    return { entries: [], usable: [], origin: "none" };
  }
  const usable = mergeRanges(listed);
  if (parsed && sameRanges(parsed.usable, usable)) return { ...parsed, origin: "parameters" };
  // One network reads better as written than as first and last address.
  const entries = usable.map((range) => listed.find((l) => l.first === range.first && l.last === range.last) ?? range);
  return { entries, usable, origin: "status" };
}

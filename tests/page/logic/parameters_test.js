import { countRanges, formatRange } from "/script/ip.js";
import { METALLB_PROVISIONER, rangesOfClass, readParameters } from "/script/parameters.js";
import { equal, test } from "./harness.js";

const usable = (parameters) => readParameters(parameters)?.usable.map(formatRange) ?? null;

test("parameters are read as the driver reads them", () => {
  const rows = [
    [{ addresses: ["203.0.113.0/24"] }, ["203.0.113.1 – 203.0.113.254"]],
    [{ addresses: ["203.0.113.0/24"], includeNetworkAddresses: true }, ["203.0.113.0 – 203.0.113.255"]],
    [{ addresses: ["192.0.2.0/31"] }, ["192.0.2.0 – 192.0.2.1"]],
    [{ addresses: ["192.0.2.7/32"] }, ["192.0.2.7"]],
    [{ addresses: ["192.0.2.7"] }, ["192.0.2.7"]],
    [{ addresses: ["192.0.2.9/30"] }, ["192.0.2.9 – 192.0.2.10"]],
    [{ addresses: ["192.0.2.0-192.0.2.255"] }, ["192.0.2.0 – 192.0.2.255"]],
    [{ addresses: ["2001:db8::/126"] }, ["2001:db8:: – 2001:db8::3"]],
    [{ addresses: ["10.0.0.0/24", "192.0.2.7"], exclude: ["10.0.0.1", "10.0.0.128/25", "172.16.0.0/12"] }, ["10.0.0.2 – 10.0.0.127", "192.0.2.7"]],
    [{ addresses: ["2001:db8::/120", "10.0.0.1"], exclude: ["2001:db8::/121"] }, ["10.0.0.1", "2001:db8::80 – 2001:db8::ff"]],
    // Refused by the driver, so nothing is known.
    [{}, null], [null, null], ["x", null], [[], null], [{ addresses: [] }, null], [{ addresses: "10.0.0.0/24" }, null], [{ addresses: [5] }, null],
    [{ addresses: ["10.0.0.0/33"] }, null], [{ addresses: ["10.0.0.0/24", "10.0.0.7"] }, null], [{ addresses: ["10.0.0.1"], exclude: ["10.0.0.1"] }, null],
    [{ addresses: ["10.0.0.0/24"], exclude: "10.0.0.1" }, null], [{ addresses: ["10.0.0.0/24"], exclude: ["x"] }, null],
    [{ addresses: ["10.0.0.0/24"], includeNetworkAddresses: "yes" }, null],
  ];
  for (const [parameters, expected] of rows) equal(usable(parameters), expected, JSON.stringify(parameters));
});

const cls = (parameters, ranges, provisioner = METALLB_PROVISIONER) => ({ spec: { provisioner, parameters }, status: ranges ? { ranges } : undefined });

test("what is in force is drawn", () => {
  const whole = rangesOfClass(cls({ addresses: ["192.0.2.0/30"] }, ["192.0.2.1/32", "192.0.2.2/32"]));
  equal([whole.origin, whole.entries.map(formatRange), countRanges(whole.usable, 4)], ["parameters", ["192.0.2.0/30"], 2n]);
  const young = rangesOfClass(cls({ addresses: ["192.0.2.0/30"] }));
  equal([young.origin, young.entries.map(formatRange)], ["parameters", ["192.0.2.0/30"]]);
  // Edited to something the driver refused: what was, still is.
  const kept = rangesOfClass(cls({ addresses: ["oops"] }, ["192.0.2.1/32", "192.0.2.2/31"]));
  equal([kept.origin, kept.entries.map(formatRange), countRanges(kept.usable, 4)], ["status", ["192.0.2.1 – 192.0.2.3"], 3n]);
  const edited = rangesOfClass(cls({ addresses: ["198.51.100.0/24"] }, ["192.0.2.0/24"]));
  equal([edited.origin, edited.entries.map(formatRange)], ["status", ["192.0.2.0/24"]]);
  // Parameters of another driver may mean anything.
  const other = rangesOfClass(cls({ addresses: ["192.0.2.0/30"] }, undefined, "other"));
  equal([other.origin, other.entries], ["none", []]);
  equal(rangesOfClass(cls({ addresses: ["192.0.2.0/30"] }, ["10.0.0.0/8"], "other")).entries.map(formatRange), ["10.0.0.0/8"]);
  equal(rangesOfClass({ metadata: { name: "bare" } }).origin, "none");
});

import { contains, countRanges, formatAddress, formatRange, mergeRanges, parseAddress, parseRange, rangeSize, sameRanges, subtractRanges } from "/script/ip.js";
import { equal, test } from "./harness.js";

test("addresses are read and written canonically", () => {
  const same = ["0.0.0.0", "203.0.113.7", "255.255.255.255", "::", "::1", "2001:db8::", "2001:db8::7", "1:2:3:4:5:6:7:8", "::a00:5",
    "2001:db8:0:1::2", "2001:0:0:1::2", "1:0:2:3:4:5:6:7", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "64:ff9b::102:304"];
  for (const text of same) {
    const ip = parseAddress(text);
    equal(formatAddress(ip.family, ip.value), text);
  }
  const rows = [["2001:DB8:0:0:0:0:0:1", "2001:db8::1"], ["0:0:0:0:0:0:0:0", "::"], ["::ffff:192.0.2.1", "192.0.2.1"], ["::ffff:c000:201", "192.0.2.1"],
    ["64:ff9b::1.2.3.4", "64:ff9b::102:304"], ["1:0:0:2:0:0:0:3", "1:0:0:2::3"], ["0:0:1:0:0:1:0:0", "::1:0:0:1:0:0"], ["1:0:0:0:2:0:0:0", "1::2:0:0:0"], ["1:0:0:2:0:0:0:0", "1:0:0:2::"]];
  for (const [text, canonical] of rows) {
    const ip = parseAddress(text);
    equal(formatAddress(ip.family, ip.value), canonical, text);
  }
});

test("what is no address is refused", () => {
  const bad = ["", " ", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4/32", "1.2.3.-4", "+1.2.3.4", "1e1.2.3.4", ":", ":::", "1::2::3", "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8", "12345::", "g::", "fe80::1%eth0", "::1.2.3", "1.2.3.4::", "::1.2.3.4:5", "a".repeat(1000), null, 7, {}, undefined];
  for (const text of bad) equal(parseAddress(text), null, String(text));
});

test("ranges are read in their three forms", () => {
  const rows = [["203.0.113.0/24", "203.0.113.0/24", 256n], ["203.0.113.9/29", "203.0.113.8/29", 8n], ["203.0.113.7", "203.0.113.7", 1n],
    ["192.0.2.10 - 192.0.2.40", "192.0.2.10 – 192.0.2.40", 31n], ["192.0.2.1-192.0.2.1", "192.0.2.1", 1n], ["192.0.2.4/31", "192.0.2.4/31", 2n],
    ["192.0.2.4/32", "192.0.2.4", 1n], ["0.0.0.0/0", "0.0.0.0/0", 1n << 32n], ["::/0", "::/0", 1n << 128n], ["2001:db8::/64", "2001:db8::/64", 1n << 64n],
    ["2001:db8::7/128", "2001:db8::7", 1n]];
  for (const [text, written, size] of rows) {
    const range = parseRange(text);
    equal([formatRange(range), rangeSize(range)], [written, size], text);
  }
  const bad = ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/024", "10.0.0.0/255.0.0.0", "10.0.0.9-10.0.0.1", "10.0.0.1-2001:db8::1", "10.0.0.1-20",
    "10.0.0.1-", "-10.0.0.1", "10.0.0.0/24-10.0.0.9", "::/129", "::ffff:10.0.0.0/104", 5, null, ["10.0.0.0/24"]];
  for (const text of bad) equal(parseRange(text), null, String(text));
});

const of = (...texts) => texts.map(parseRange).map(({ family, first, last }) => ({ family, first, last }));

test("sets of ranges", () => {
  equal(mergeRanges(of("10.0.0.128/25", "::/127", "10.0.0.0/25", "10.0.2.0/24", "10.0.0.5")), of("10.0.0.0/24", "10.0.2.0/24", "::/127"));
  equal(subtractRanges(of("10.0.0.0/24"), of("10.0.0.0", "10.0.0.9", "10.0.0.255")), of("10.0.0.1-10.0.0.8", "10.0.0.10-10.0.0.254"));
  equal(subtractRanges(of("10.0.0.0/30", "10.0.1.0/30"), of("10.0.0.2-10.0.1.1")), of("10.0.0.0-10.0.0.1", "10.0.1.2-10.0.1.3"));
  equal(subtractRanges(of("10.0.0.0/30", "::/126"), of("10.0.0.0/24")), of("::/126"));
  equal(subtractRanges(of("10.0.0.0/30", "::/126"), of("::/126")), of("10.0.0.0/30"));
  equal(subtractRanges(of("10.0.0.5"), of("10.0.0.5")), []);
  const ranges = of("10.0.0.0/30", "10.0.1.0/30", "::10-::20");
  const has = (text) => contains(ranges, parseAddress(text).family, parseAddress(text).value);
  equal(["10.0.0.0", "10.0.0.3", "10.0.0.4", "10.0.1.3", "9.255.255.255", "::10", "::f", "::21", "255.255.255.255"].map(has),
    [true, true, false, true, false, true, false, false, false]);
  equal([countRanges(ranges, 4), countRanges(ranges, 6)], [8n, 17n]);
  equal([sameRanges(ranges, of("10.0.0.0/30", "10.0.1.0/30", "::10-::20")), sameRanges(ranges, of("10.0.0.0/30"))], [true, false]);
});

test("sets of ranges agree with counting one by one", () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 300; ++round) {
    const some = (n) => Array.from({ length: n }, () => {
      const first = BigInt(random(60));
      return { family: 4, first, last: first + BigInt(random(8)) };
    });
    const [a, b] = [some(5), some(5)];
    const inside = (ranges, value) => ranges.some((range) => range.first <= value && value <= range.last);
    const left = subtractRanges(mergeRanges(a), mergeRanges(b));
    for (let value = 0n; value < 70n; ++value)
      equal(contains(left, 4, value), inside(a, value) && !inside(b, value), `round ${round}, ${value}`);
  }
});

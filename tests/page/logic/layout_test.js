import { formatAddress, parseRange, parseAddress } from "/script/ip.js";
import { layOut, moveFocus } from "/script/layout.js";
import { equal, test } from "./harness.js";

const section = (text, ...used) => {
  const range = parseRange(text);
  return { ranges: [range], family: range.family, size: range.last - range.first + 1n, infos: used.map((ip) => ({ value: parseAddress(ip).value })) };
};
const rows = (text, columns, ...used) => {
  const { family } = parseRange(text);
  return layOut(section(text, ...used), columns).rows.map((row) =>
    row.kind === "gap" ? `gap ${formatAddress(family, row.first)}-${formatAddress(family, row.last)}` : `${formatAddress(family, row.from)}-${formatAddress(family, row.to)}`);
};

test("small ranges are drawn whole", () => {
  equal(rows("192.0.2.7", 16), ["192.0.2.7-192.0.2.7"]);
  equal(rows("192.0.2.4/31", 16), ["192.0.2.4-192.0.2.5"]);
  equal(rows("2001:db8::/127", 32), ["2001:db8::-2001:db8::1"]);
  equal(rows("192.0.2.10-192.0.2.40", 16), ["192.0.2.10-192.0.2.25", "192.0.2.26-192.0.2.40"]);
  equal(rows("192.0.2.10-192.0.2.50", 16), ["192.0.2.10-192.0.2.15", "192.0.2.16-192.0.2.31", "192.0.2.32-192.0.2.47", "192.0.2.48-192.0.2.50"]);
  equal(rows("203.0.113.0/24", 32).length, 8);
  equal(rows("255.255.255.0/24", 32).at(-1), "255.255.255.224-255.255.255.255");
  equal(rows("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0/124", 8).at(-1), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff8-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
});

test("long free stretches of larger ranges are left out", () => {
  equal(rows("10.0.0.0/22", 32), ["gap 10.0.0.0-10.0.3.255"]);
  equal(rows("10.0.0.0/22", 32, "10.0.0.5", "10.0.0.70", "10.0.3.255"),
    ["10.0.0.0-10.0.0.31", "10.0.0.32-10.0.0.63", "10.0.0.64-10.0.0.95", "gap 10.0.0.96-10.0.3.223", "10.0.3.224-10.0.3.255"]);
  equal(rows("10.0.0.5-10.0.3.250", 32, "10.0.1.0"), ["gap 10.0.0.5-10.0.0.255", "10.0.1.0-10.0.1.31", "gap 10.0.1.32-10.0.3.250"]);
});

test("every address of a drawn range is in exactly one row", () => {
  for (const columns of [8, 16, 32]) {
    for (const text of ["10.0.0.0/20", "10.0.0.3-10.0.7.1", "10.0.0.1-10.0.0.9", "2001:db8::ff-2001:db8::9ff"]) {
      const range = parseRange(text);
      const infos = [1n, 40n, 600n].map((offset) => ({ value: range.first + offset }));
      const { rows: all } = layOut({ ranges: [range], family: range.family, size: range.last - range.first + 1n, infos }, columns);
      let next = range.first;
      for (const row of all) {
        equal(row.kind === "gap" ? row.first : row.from, next, text);
        next = (row.kind === "gap" ? row.last : row.to) + 1n;
      }
      equal(next, range.last + 1n, text);
    }
  }
});

test("large ranges, and several in one, are lists", () => {
  for (const text of ["10.0.0.0/19", "2001:db8::/64", "::/0", "0.0.0.0/0"]) equal(layOut(section(text), 32).mode, "list", text);
  equal(layOut({ ranges: [parseRange("10.0.0.0/24"), parseRange("10.0.1.0/24")], family: 0, size: 512n, infos: [] }, 32).mode, "list");
  equal(layOut({ ranges: [], family: 0, size: null, infos: [] }, 32).mode, "list");
});

test("keys move the focus", () => {
  const lengths = [6, 16, 1, 16];
  const press = (row, column, key, control = false) => {
    const to = moveFocus(lengths, { row, column }, key, control);
    return to && [to.row, to.column];
  };
  equal([press(0, 5, "ArrowRight"), press(1, 0, "ArrowLeft"), press(0, 0, "ArrowLeft"), press(3, 15, "ArrowRight")], [[1, 0], [0, 5], [0, 0], [3, 15]]);
  equal([press(0, 3, "ArrowUp"), press(1, 9, "ArrowUp"), press(1, 9, "ArrowDown"), press(3, 3, "ArrowDown")], [[0, 3], [0, 5], [2, 0], [3, 3]]);
  equal([press(1, 9, "Home"), press(1, 9, "End"), press(1, 9, "Home", true), press(1, 9, "End", true)], [[1, 0], [1, 15], [0, 0], [3, 15]]);
  equal([press(3, 9, "PageUp"), press(0, 2, "PageDown"), press(0, 0, "x"), press(0, 0, "Tab")], [[0, 5], [3, 2], null, null]);
});

import { connectionOf } from "/script/connection.js";
import { announcement, clean, clock, formatCount, plural } from "/script/text.js";
import { sayItem, timeOfEvent, Timeline } from "/script/timeline.js";
import { equal, test } from "./harness.js";

test("text that hides or reorders is made visible", () => {
  equal(clean("a\u202eb\u0000c\u200bd\u2066e\ufefff"), "a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf");
  equal(clean("línea\n日本 <b>&amp;"), "línea\n日本 <b>&amp;");
  equal([clean(null), clean(undefined), clean(0), clean({})], ["", "", "0", "[object Object]"]);
  equal([clean("x".repeat(5), 5), clean("x".repeat(6), 5)], ["xxxxx", "xxxxx…"]);
});

test("numbers are written in full", () => {
  equal([formatCount(0n), formatCount(999n), formatCount(1000n), formatCount(1n << 64n), formatCount(12345)],
    ["0", "999", "1,000", "18,446,744,073,709,551,616", "12,345"]);
  equal([plural(1n, "one", "many"), plural(2, "one", "many")], ["1 one", "2 many"]);
});

test("a flood becomes one sentence", () => {
  equal(announcement([]), "");
  equal(announcement(["a", "b"]), "a. b.");
  equal(announcement(["a", "b", "c"]), "1 change before. b. c.");
  equal(announcement(Array(5000).fill("x")).length < 50, true);
});

test("times", () => {
  const now = new Date(2026, 0, 2, 12);
  equal(clock(new Date(2026, 0, 2, 3, 4, 5), now), "03:04:05");
  equal(clock(new Date(2025, 11, 31, 3, 4, 5), now), "2025-12-31 03:04:05");
  equal(clock("nonsense", now), "");
  equal(timeOfEvent({ metadata: { creationTimestamp: "1" }, eventTime: null, deprecatedLastTimestamp: "2" }), "2");
  equal(timeOfEvent({ metadata: {}, eventTime: "3", series: { lastObservedTime: "4" } }), "4");
  equal(timeOfEvent({ metadata: {} }), "");
});

const event = (uid, version, at, kind = "Service", more = {}) => ({
  metadata: { uid, resourceVersion: version }, eventTime: at, reason: "R" + uid, regarding: { kind, namespace: "n", name: "x" }, ...more,
});

test("what happened is in the order of arrival, newest first, each thing once", () => {
  const timeline = new Timeline();
  timeline.takeEvents([event("a", "1", "2026-01-01T00:00:01Z"), event("b", "2", "2026-01-01T00:00:03Z"), event("c", "3", "2026-01-01T00:00:02Z", "Pod")]);
  const titles = () => timeline.items.map((item) => item.title || item.text);
  equal(titles(), ["Rb", "Ra"]);
  equal(timeline.takeEvents([event("a", "1", "2026-01-01T00:00:01Z"), event("b", "2", "2026-01-01T00:00:03Z")]), []);
  timeline.takeChanges([{ key: "4/1", text: "changed", warning: false }], new Date());
  timeline.takeEvents([event("a", "4", "2020-01-01T00:00:01Z", "Service", { series: { count: 3, lastObservedTime: "2026-01-01T00:00:09Z" } })]);
  equal(titles(), ["Ra", "changed", "Rb"]);
  equal(timeline.items[0].count, 3);
  equal([timeline.filtered("change").length, timeline.filtered("event").length, timeline.filtered("warning").length], [1, 2, 0]);
});

test("what happened does not grow for ever", () => {
  const timeline = new Timeline();
  for (let i = 0; i < 20; ++i)
    timeline.takeChanges(Array.from({ length: 100 }, (_, n) => ({ key: `${i}/${n}`, text: "x", warning: false })), new Date());
  equal(timeline.items.length, 300);
});

test("an item is one sentence", () => {
  const timeline = new Timeline();
  const [item] = timeline.takeEvents([event("a", "1", "t", "Service", { type: "Warning" })]);
  equal(sayItem(item), "Warning: Ra, Service n/x");
});

test("the connection is told in one line", () => {
  const at = (...states) => connectionOf(states.map(([label, state, detail = ""]) => ({ label, state, detail })));
  equal(at(["a", "live"], ["b", "live"]), { state: "live", text: "Live" });
  equal(at(["a", "loading"], ["b", "live"]), { state: "wait", text: "Loading" });
  equal(at(["a", "polling"], ["b", "live"]), { state: "wait", text: "Every 5 s: another window is live" });
  equal(at(["a", "retrying", "gone"], ["b", "loading"]), { state: "bad", text: "Reconnecting: gone" });
  equal(at(["a", "live"], ["Services", "denied", "no"]), { state: "wait", text: "Live, without Services (no)" });
  equal(at(["a", "denied", "no"], ["b", "denied", "no"]), { state: "bad", text: "No access: no" });
});

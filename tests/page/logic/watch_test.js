import { LineReader, ObjectStore, retryDelay, Watcher } from "/script/watch.js";
import { equal, ok, test } from "./harness.js";

// A server that answers from a script: each step takes the request and returns a Response, or throws. Time passes only in sleeps.
class Script {
  requests = [];
  sleeps = [];
  states = [];
  changes = 0;
  time = 0;

  constructor(steps, options = {}) {
    this.finished = new Promise((resolve) => (this.finish = resolve));
    this.watcher = new Watcher({
      url: "http://server/things",
      random: () => 1,
      now: () => this.time,
      fetch: async (url, { signal }) => {
        this.requests.push(url.replace("http://server/things?", ""));
        const step = steps.shift();
        if (!step) {
          this.finish();
          return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
        }
        return step(this);
      },
      sleep: async (ms) => {
        this.sleeps.push(ms);
        this.time += ms;
      },
      changed: () => (this.changes += 1),
      said: (state, detail) => this.states.push(detail ? `${state}: ${detail}` : state),
      ...options,
    });
  }

  // Runs until all steps are used up.
  async run() {
    this.watcher.start();
    await this.finished;
    this.watcher.stop();
    await this.watcher.done;
    return this;
  }

  names() {
    return this.watcher.store.list().map((object) => object.metadata.name + object.metadata.resourceVersion).sort();
  }
}

const thing = (name, version) => ({ metadata: { name, resourceVersion: version } });
const list = (version, items, next = "") => () => Response.json({ metadata: { resourceVersion: version, continue: next }, items });
const status = (code, message) => () => Response.json({ message, code }, { status: code });
const watch = (...events) => (script) => {
  script.time += 5000;
  return new Response(events.map((event) => JSON.stringify(event) + "\n").join(""));
};
const event = (type, name, version) => ({ type, object: thing(name, version) });
const bookmark = (version) => ({ type: "BOOKMARK", object: { metadata: { resourceVersion: version } } });
const WATCH = (version) => `watch=true&allowWatchBookmarks=true&resourceVersion=${version}&timeoutSeconds=240`;

test("lines come whole, however they are cut", () => {
  const text = '{"a":1}\n\n{"b":"x\\ny"}\r\n{"c":3}\n{"d"';
  for (let size = 1; size < text.length; ++size) {
    const reader = new LineReader();
    const objects = [];
    for (let at = 0; at < text.length; at += size) objects.push(...reader.push(text.slice(at, at + size)));
    equal(objects, [{ a: 1 }, { b: "x\ny" }, { c: 3 }], `pieces of ${size}`);
  }
});

test("a store follows", () => {
  const store = new ObjectStore();
  store.replace([thing("a", "1"), thing("b", "1")]);
  store.apply("MODIFIED", thing("a", "2"));
  store.apply("DELETED", thing("b", "3"));
  store.apply("ADDED", { metadata: { namespace: "n", name: "a", resourceVersion: "4" } });
  equal([...store.objects.keys()], ["/a", "n/a"]);
});

test("a list in pages, then a watch from its version, then on from the last one seen", async () => {
  const script = await new Script([
    list("5", [thing("a", "1")], "more"), list("5", [thing("b", "2")]),
    watch(event("ADDED", "c", "6"), event("DELETED", "a", "7"), bookmark("9")), watch(bookmark("11")),
  ]).run();
  equal(script.requests, ["limit=500", "limit=500&continue=more", WATCH("5"), WATCH("9"), WATCH("11")]);
  equal([script.names(), script.sleeps, script.states], [["b2", "c6"], [], ["live"]]);
});

test("a bookmark draws nothing", async () => {
  const script = await new Script([list("5", []), watch(bookmark("9"))]).run();
  equal(script.changes, 1);
});

test("410 in a watch lists again at once, and what is gone is gone", async () => {
  const expired = { type: "ERROR", object: { code: 410, message: "too old" } };
  const script = await new Script([list("5", [thing("a", "1"), thing("b", "1")]), watch(event("MODIFIED", "a", "6"), expired), list("20", [thing("b", "9")])]).run();
  equal([script.requests.slice(2), script.names(), script.sleeps], [["limit=500", WATCH("20")], ["b9"], []]);
});

test("410 as the answer to a watch or a page starts over", async () => {
  const script = await new Script([list("5", []), status(410, "old"), list("6", [], "next"), status(410, "old"), list("7", [thing("z", "1")])]).run();
  equal([script.requests.at(-2), script.requests.at(-1), script.names()], ["limit=500", WATCH("7"), ["z1"]]);
});

test("410 again and again is not asked for without rest", async () => {
  const script = await new Script([list("5", []), status(410, "old"), list("5", []), status(410, "old"), list("5", []), status(410, "old")]).run();
  equal(script.sleeps, [1000, 2000]);
});

test("failures are retried, ever more slowly, from the version that was seen", async () => {
  const lost = () => {
    throw new TypeError("network");
  };
  const script = await new Script([lost, status(503, "etcd is away"), list("5", []), lost, lost, watch(event("ADDED", "a", "8")), lost, lost]).run();
  equal(script.sleeps, [500, 1000, 2000, 4000, 500, 1000]);
  equal(script.requests.slice(-2), [WATCH("8"), WATCH("8")]);
  equal(script.states.slice(0, 2), ["retrying: the server cannot be reached", "retrying: etcd is away"]);
});

test("a stream that breaks is taken up where it was", async () => {
  const broken = (script) => {
    script.time += 5000;
    const first = new TextEncoder().encode(JSON.stringify(event("ADDED", "a", "8")) + '\n{"type":"ADD');
    let pulls = 0;
    return new Response(new ReadableStream({ pull(controller) { if (pulls++ === 0) controller.enqueue(first); else controller.error(new Error("cut")); } }));
  };
  const script = await new Script([list("5", []), broken]).run();
  equal([script.requests.at(-1), script.names(), script.states], [WATCH("8"), ["a8"], ["live", "retrying: the connection was lost"]]);
});

test("a server that ends each watch at once is not hammered", async () => {
  const empty = () => new Response("");
  const script = await new Script([list("5", []), empty, empty, empty, empty]).run();
  equal(script.sleeps, [500, 1000, 2000, 4000]);
});

test("who may not look is told so, and tries again", async () => {
  const script = await new Script([status(403, "forbidden: no"), status(404, "not found"), list("1", [])]).run();
  equal(script.states, ["denied: forbidden: no", "denied: not found", "live"].slice(0, 2).concat(script.states.slice(2)));
  equal([script.states[0], script.requests.at(-1)], ["denied: forbidden: no", WATCH("1")]);
});

test("without the right to watch, it lists at intervals", async () => {
  let may = false;
  const script = await new Script([list("1", []), list("2", [thing("a", "2")]), () => ((may = true), list("3", [])())], { mayWatch: () => may }).run();
  equal([script.requests, script.sleeps, script.states[0]], [["limit=500", "limit=500", "limit=500", WATCH("3")], [5000, 5000], "polling"]);
});

test("waiting between lists ends when woken", async () => {
  let may = false;
  const napping = [];
  const sleep = (_, signal) => new Promise((resolve, reject) => {
    napping.push(resolve);
    signal.addEventListener("abort", () => reject(new Error("woken")));
  });
  const script = new Script([list("1", []), list("2", [])], { mayWatch: () => may, sleep });
  const run = script.run();
  while (napping.length === 0) await new Promise((resolve) => setTimeout(resolve));
  may = true;
  script.watcher.wake();
  await run;
  equal(script.requests, ["limit=500", "limit=500", WATCH("2")]);
});

test("stopping ends everything, starting again lists anew", async () => {
  const script = new Script([list("1", [])]);
  await script.run();
  const before = script.requests.length;
  await Promise.resolve();
  equal(script.requests.length, before);
  script.finished = new Promise((resolve) => (script.finish = resolve));
  await script.run();
  equal(script.requests.at(-1), "limit=500");
});

test("retries are spread and bounded", () => {
  for (let attempt = 1; attempt < 40; ++attempt) {
    ok(retryDelay(attempt, () => 0) >= 250 && retryDelay(attempt, () => 1) <= 30000, "bounds");
    equal(retryDelay(attempt, () => 0) * 2, retryDelay(attempt, () => 1));
  }
});

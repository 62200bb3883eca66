// One kind, listed and then watched for ever. No DOM: requests, time and what is done with objects come from outside.

const PAGE_SIZE = 500;
const WATCH_SECONDS = 240;
const LIST_PATIENCE_MS = 30_000;
const POLL_MS = 5_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;
// A watch that ends sooner than this without an event has failed, whatever the server said.
const SHORT_WATCH_MS = 1_000;

// What a server said no with, or what became of the connection.
export class ApiFailure extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// Cuts a stream of text into lines of JSON.
export class LineReader {
  #rest = "";
  // The objects of all lines that are whole now.
  push(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line));
  }
}

// The objects of one kind by name.
export class ObjectStore {
  objects = new Map();

  static key(object) {
    return (object.metadata.namespace ?? "") + "/" + object.metadata.name;
  }

  replace(items) {
    this.objects = new Map(items.map((item) => [ObjectStore.key(item), item]));
  }

  apply(type, object) {
    if (type === "DELETED") this.objects.delete(ObjectStore.key(object));
    else this.objects.set(ObjectStore.key(object), object);
  }

  list() {
    return [...this.objects.values()];
  }
}

// Milliseconds before try number `attempt` (from 1): doubled each time, at random between half and all of it.
export function retryDelay(attempt, random = Math.random) {
  const most = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempt - 1));
  return most / 2 + random() * (most / 2);
}

// Keeps a store equal to what the server has. `url` is the collection's; `fetch(url, {signal})`, `sleep(ms, signal)` and `now()`
// are the browser's or a test's. Calls changed() after each change of the store, and said(state, detail) with "loading", "live",
// "polling", "retrying" or "denied" whenever that changes. `mayWatch()` false: lists at intervals instead.
export class Watcher {
  #options;
  #stop = null;
  #nap = null;

  constructor(options) {
    this.store = new ObjectStore();
    this.state = "loading";
    this.#options = { mayWatch: () => true, random: Math.random, ...options };
  }

  start() {
    if (this.#stop) return;
    this.#stop = new AbortController();
    this.done = this.#run(this.#stop.signal);
  }

  stop() {
    this.#stop?.abort();
    this.#stop = null;
  }

  // Ends the wait between two lists, after mayWatch() has changed.
  wake() {
    this.#nap?.end();
  }

  #say(state, detail = "") {
    if (this.state === state && this.detail === detail) return;
    this.state = state;
    this.detail = detail;
    this.#options.said?.(state, detail);
  }

  async #run(signal) {
    // The version to watch from; null if there is none that the server would still know.
    const seen = { version: null };
    let attempt = 0;
    while (!signal.aborted) {
      try {
        if (seen.version === null) seen.version = await this.#list(signal);
        if (this.#options.mayWatch()) {
          if (this.state === "loading") this.#say("live");
          await this.#watch(seen, signal, () => (attempt = 0));
        } else {
          this.#say("polling");
          await this.#napUntilNextList(signal);
          seen.version = null;
        }
        attempt = 0;
      } catch (failure) {
        if (signal.aborted) return;
        if (failure.code === 410) seen.version = null;
        attempt += 1;
        this.#complain(failure);
        // The first 410 is nobody's fault and cured by a list at once.
        if (failure.code !== 410 || attempt > 1) await this.#pause(attempt, signal);
      }
    }
  }

  #complain(failure) {
    if (failure.code === 410) return;
    const denied = failure.code === 401 || failure.code === 403 || failure.code === 404;
    this.#say(denied ? "denied" : "retrying", failure.message);
  }

  async #napUntilNextList(signal) {
    this.#nap = withPatience(signal, 2 * POLL_MS);
    try {
      await this.#options.sleep(POLL_MS, this.#nap.signal);
    } catch {
      // Woken or stopped.
    } finally {
      this.#nap.end();
      this.#nap = null;
    }
  }

  async #pause(attempt, signal) {
    try {
      await this.#options.sleep(retryDelay(attempt, this.#options.random), signal);
    } catch {
      // Stopped; the loop sees it.
    }
  }

  #address(query) {
    const url = new URL(this.#options.url);
    for (const [key, value] of Object.entries(query)) if (value !== "") url.searchParams.set(key, value);
    return url.href;
  }

  async #request(url, signal) {
    let response;
    try {
      response = await this.#options.fetch(url, { signal, headers: { Accept: "application/json" }, cache: "no-store" });
    } catch (failure) {
      throw new ApiFailure(0, "the server cannot be reached");
    }
    if (response.ok) return response;
    const status = await response.json().catch(() => null);
    throw new ApiFailure(response.status, status?.message ?? `the server answered ${response.status}`);
  }

  async #list(signal) {
    const items = [];
    let next = "";
    for (;;) {
      const limited = withPatience(signal, LIST_PATIENCE_MS);
      try {
        const response = await this.#request(this.#address({ limit: PAGE_SIZE, continue: next }), limited.signal);
        const page = await response.json();
        items.push(...(page.items ?? []));
        next = page.metadata?.continue ?? "";
        if (next !== "") continue;
        this.store.replace(items);
        this.#options.changed?.();
        return page.metadata?.resourceVersion ?? "0";
      } finally {
        limited.end();
      }
    }
  }

  // Follows the watch until it ends, however it does; seen.version is then where to go on.
  async #watch(seen, signal, progressed) {
    const query = { watch: "true", allowWatchBookmarks: "true", resourceVersion: seen.version, timeoutSeconds: WATCH_SECONDS };
    const began = this.#options.now();
    const limited = withPatience(signal, (WATCH_SECONDS + 30) * 1000);
    let events = 0;
    try {
      const response = await this.#request(this.#address(query), limited.signal);
      this.#say("live");
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      const lines = new LineReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const batch = lines.push(decoder.decode(value, { stream: true }));
        for (const event of batch) this.#take(event, seen);
        events += batch.length;
        if (batch.length > 0) progressed();
        if (batch.some((event) => event.type !== "BOOKMARK")) this.#options.changed?.();
      }
    } catch (failure) {
      if (failure instanceof ApiFailure) throw failure;
      throw new ApiFailure(0, "the connection was lost");
    } finally {
      limited.end();
    }
    if (events === 0 && this.#options.now() - began < SHORT_WATCH_MS) throw new ApiFailure(0, "the server ends each watch at once");
  }

  #take(event, seen) {
    if (event.type === "ERROR") throw new ApiFailure(event.object?.code ?? 0, event.object?.message ?? "the watch failed");
    if (event.type !== "BOOKMARK") this.store.apply(event.type, event.object);
    seen.version = event.object.metadata.resourceVersion ?? seen.version;
  }
}

// A signal that fires with `signal` or after `ms`; end() when it is no longer needed.
function withPatience(signal, ms) {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  const timer = setTimeout(abort, ms);
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      abort();
    },
  };
}

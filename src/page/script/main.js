// Puts everything together: watches, model, drawing.
import { addressKey, formatAddress, parseAddress } from "./ip.js";
import { Card, claimLines } from "./cards.js";
import { connectionOf } from "./connection.js";
import { DetailsView } from "./details.js";
import { element, quoted, reconcileChildren, setAttributes, setText } from "./dom.js";
import { FeedView } from "./feed.js";
import { buildModel, changesBetween } from "./model.js";
import { announcement, clean, describe, formatCount, STATES } from "./text.js";
import { sayItem, Timeline } from "./timeline.js";
import { Watcher } from "./watch.js";

// page.cc lists the same paths.
const KINDS = [
  ["classes", "classes", "apis/local.sdn.cozystack.io/v1alpha1/ipaddressclasses"],
  ["addresses", "addresses", "apis/local.sdn.cozystack.io/v1alpha1/ipaddresses"],
  ["claims", "claims", "apis/local.sdn.cozystack.io/v1alpha1/ipaddressclaims"],
  ["services", "Services", "api/v1/services"],
  ["events", "events", "apis/events.k8s.io/v1/events"],
];
// A browser opens six connections to a server at once, for all windows together. Only one window may keep five of them.
const WATCH_LOCK = "ipam-page-watches";
const HIDDEN_PATIENCE_MS = 10_000;
const ANNOUNCE_EVERY_MS = 8_000;
// A cell with the gap behind it, and what else is in a row (page.css).
const CELL_PX = 24;
const BESIDE_CELLS_PX = 172;

const by = (id) => document.getElementById(id);

function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

class Page {
  #watchers = new Map();
  #cards = new Map();
  #timeline = new Timeline();
  #model = { classes: [], homeless: [], known: new Map() };
  #ready = false;
  #scheduled = false;
  #cost = 0;
  #columns = 16;
  #watching = false;
  #release = null;
  #unsaid = [];

  constructor() {
    const root = new URL(document.querySelector('meta[name="api"]').content, document.baseURI);
    for (const [key, label, path] of KINDS) {
      const watcher = new Watcher({
        url: new URL(path, root).href,
        fetch: (url, options) => fetch(url, options),
        sleep,
        now: () => performance.now(),
        mayWatch: () => this.#watching,
        changed: () => {
          watcher.loaded = true;
          this.schedule();
        },
        said: () => this.#showConnection(),
      });
      watcher.label = label;
      this.#watchers.set(key, watcher);
    }
    this.details = new DetailsView({
      region: by("details"), heading: by("details-title"), close: by("details-close"), body: by("details-body"),
      closed: (key, from) => this.#closed(key, from),
    });
    this.feed = new FeedView({ list: by("feed-list"), empty: by("feed-empty"), open: (key, from) => this.#open(key, from) });
    this.#fillLegend();
    this.#listen();
  }

  start() {
    this.#resume();
    setInterval(() => this.#announce(), ANNOUNCE_EVERY_MS);
  }

  #listen() {
    const redraw = () => this.#draw();
    by("find").addEventListener("input", redraw);
    by("find-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#goToFirst();
    });
    for (const radio of document.querySelectorAll('input[name="view"]')) radio.addEventListener("change", redraw);
    by("feed-filter").addEventListener("change", redraw);
    by("pause").addEventListener("click", () => this.#togglePause());
    document.addEventListener("visibilitychange", () => this.#onVisibility());
    window.addEventListener("pagehide", () => this.#suspend());
    window.addEventListener("pageshow", (event) => event.persisted && this.#resume());
    new ResizeObserver(() => this.#measure()).observe(by("classes"));
  }

  // ---- connection

  #resume() {
    clearTimeout(this.hiddenTimer);
    if (this.running) return;
    this.running = true;
    this.#askToWatch().then(() => {
      if (this.running) for (const watcher of this.#watchers.values()) watcher.start();
      this.#showConnection();
    });
  }

  // Resolves when it is known whether this window may watch now; if not, it may when the other one is gone.
  async #askToWatch() {
    if (!navigator.locks) {
      this.#watching = true;
      return;
    }
    await new Promise((resolve) => {
      const told = (lock) => {
        const held = lock && this.#hold();
        resolve();
        return held;
      };
      navigator.locks.request(WATCH_LOCK, { ifAvailable: true }, told).catch(resolve);
    });
    if (!this.#watching) navigator.locks.request(WATCH_LOCK, () => this.#hold()).catch(() => {});
  }

  // What holding the lock waits for.
  #hold() {
    if (!this.running || this.#watching) return undefined;
    this.#watching = true;
    for (const watcher of this.#watchers.values()) watcher.wake();
    return new Promise((resolve) => (this.#release = resolve));
  }

  #suspend() {
    this.running = false;
    for (const watcher of this.#watchers.values()) watcher.stop();
    this.#watching = false;
    this.#release?.();
    this.#release = null;
  }

  #onVisibility() {
    clearTimeout(this.hiddenTimer);
    if (document.hidden) this.hiddenTimer = setTimeout(() => this.#suspend(), HIDDEN_PATIENCE_MS);
    else this.#resume();
  }

  #showConnection() {
    const states = [...this.#watchers.values()].map(({ label, state, detail }) => ({ label, state, detail: clean(detail, 200) }));
    const { state, text } = connectionOf(states);
    const node = by("connection");
    // Worth words only when it broke or is whole again.
    if (node.dataset.state !== state && [node.dataset.state, state].includes("bad")) this.#unsaid.push({ text: "Connection: " + text, urgent: true });
    node.dataset.state = state;
    setText(node, text);
    this.schedule();
  }

  #togglePause() {
    this.paused = !this.paused;
    by("pause").setAttribute("aria-pressed", String(this.paused));
    if (!this.paused) this.schedule();
  }

  // ---- drawing

  // Draws soon, but leaves the browser most of the time however much there is to draw.
  schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(() => {
      this.#scheduled = false;
      if (!this.paused) this.#refresh();
    }, Math.max(30, this.#cost * 4));
  }

  #settled() {
    const needed = ["classes", "addresses"];
    return [...this.#watchers].every(([key, { loaded, state }]) =>
      loaded || state === "denied" || (state === "retrying" && !needed.includes(key)));
  }

  #refresh() {
    if (!this.#ready && !this.#settled()) return;
    const began = performance.now();
    const of = (kind) => this.#watchers.get(kind).store.list();
    const before = this.#model;
    this.#model = buildModel({ classes: of("classes"), addresses: of("addresses"), claims: of("claims"), services: of("services") });
    const events = this.#timeline.takeEvents(of("events"));
    if (this.#ready) {
      const changes = this.#timeline.takeChanges(changesBetween(before, this.#model), new Date());
      const news = [...events.reverse(), ...changes];
      this.#unsaid.push(...news.map((item) => ({ text: sayItem(item), urgent: item.warning })));
    }
    this.#ready = true;
    this.#draw();
    this.#cost = performance.now() - began;
  }

  #draw() {
    if (!this.#ready) return;
    const context = this.#context();
    const wanted = new Map(this.#model.classes.map((view) => [view.name, view]));
    for (const name of this.#cards.keys()) if (!wanted.has(name)) this.#cards.delete(name);
    reconcileChildren(by("classes"), wanted, (view) => this.#makeCard(view), (node, view) => {
      this.#cards.get(view.name).update(view, context);
    });
    by("empty").hidden = wanted.size > 0 || !this.#watchers.get("classes").loaded;
    by("loading").hidden = true;
    this.#drawHomeless();
    this.feed.render(this.#timeline.filtered(by("feed-filter").value));
    this.#drawDetails();
    this.#drawFound(context);
  }

  #makeCard(view) {
    const card = new Card({
      open: (key, from) => this.#open(key, from),
      peek: (text) => setText(by("peek"), text),
      changed: () => this.#draw(),
    });
    this.#cards.set(view.name, card);
    return card.element;
  }

  #drawHomeless() {
    const lines = claimLines(this.#model.homeless);
    by("homeless").hidden = lines.length === 0;
    by("homeless-list").replaceChildren(...lines.map((text) => element("li", {}, quoted(text))));
  }

  #context() {
    const words = by("find").value.trim().toLowerCase();
    const filtering = words !== "";
    return {
      view: document.querySelector('input[name="view"]:checked').value,
      columns: this.#columns,
      selected: this.details.key,
      filtering,
      matches: (info) => filtering && describe(info).toLowerCase().includes(words),
    };
  }

  #drawFound(context) {
    const found = context.filtering ? [...this.#model.known.values()].filter(context.matches).length : 0;
    setText(by("found"), context.filtering ? formatCount(found) + " found" : "");
    document.body.classList.toggle("finding", context.filtering);
  }

  // Enter in the search goes to the first cell that matches: one in use, or the address itself if that is what was typed.
  #goToFirst() {
    const context = this.#context();
    const ip = parseAddress(by("find").value.trim());
    const infos = this.#model.classes.flatMap((view) => [...view.sections.flatMap((section) => section.infos), ...view.outside]);
    const key = ip ? addressKey(ip.family, ip.value) : infos.find(context.matches)?.key;
    if (key) this.#findCell(key)?.focus();
  }

  #findCell(key) {
    for (const card of this.#cards.values()) if (card.cell(key)) return card.cell(key);
    return null;
  }

  // As many columns as fit beside the label and within the card: 8, 16 or 32.
  #measure() {
    const room = by("classes").clientWidth - BESIDE_CELLS_PX;
    const columns = room > 32 * CELL_PX ? 32 : room > 16 * CELL_PX ? 16 : 8;
    if (columns === this.#columns) return;
    this.#columns = columns;
    this.#draw();
  }

  // ---- details

  #open(key, from) {
    this.details.open(key, from);
    this.#draw();
    this.details.focus();
  }

  #closed(key, from) {
    this.#draw();
    const target = from?.isConnected ? from : this.#findCell(key);
    (target ?? by("classes")).focus();
  }

  #drawDetails() {
    const key = this.details.key;
    if (key === null) return;
    const claims = this.#watchers.get("claims").store.objects;
    this.details.render(this.#model.known.get(key) ?? this.#unknown(key), claims);
  }

  // An address nobody has, or one that is no address.
  #unknown(key) {
    for (const view of this.#model.classes) {
      const odd = view.outside.find((info) => info.key === key);
      if (odd) return odd;
    }
    const cell = this.#findCell(key);
    const excluded = cell?.classList.contains("excluded");
    const [family, value] = key.split("/");
    const text = family === "odd" ? value : formatAddress(Number(family), BigInt("0x" + value));
    return { key, text, state: excluded ? "excluded" : "free", users: [], objects: [], claim: null, workload: null };
  }

  // ---- words for screen readers

  #announce() {
    if (!by("announce").checked || this.paused) this.#unsaid = [];
    if (this.#unsaid.length === 0) return;
    const urgent = this.#unsaid.filter((item) => item.urgent);
    const rest = this.#unsaid.filter((item) => !item.urgent);
    setText(by("announcer"), announcement([...rest, ...urgent].map((item) => item.text)));
    this.#unsaid = [];
  }

  #fillLegend() {
    const items = STATES.map(([key, name, meaning]) =>
      element("li", {}, element("span", { class: "cell swatch " + key, "aria-hidden": "true" }), element("strong", {}, name), " " + meaning));
    by("legend").replaceChildren(...items);
    setAttributes(by("pause"), { "aria-pressed": "false" });
  }
}

new Page().start();

// The least that tests need. Results end in window.results: [{name, error}].
const tests = [];

export function test(name, run) {
  tests.push({ name, run });
}

function plain(value) {
  return JSON.stringify(value, (_, item) => {
    if (typeof item === "bigint") return item.toString() + "n";
    if (item instanceof Map) return [...item];
    return item === undefined ? null : item;
  });
}

export function equal(actual, expected, what = "") {
  const [a, e] = [plain(actual), plain(expected)];
  if (a !== e) throw new Error(`${what ? what + ": " : ""}expected ${e}\n  but got ${a}`);
}

export function ok(value, what) {
  if (!value) throw new Error(what);
}

export async function runAll() {
  const results = [];
  for (const { name, run } of tests) {
    try {
      await run();
      results.push({ name, error: null });
    } catch (error) {
      results.push({ name, error: String(error.stack ?? error) });
    }
  }
  window.results = results;
}

// What the page says about its connection. Pure.

// states: [{label, state, detail}] of the watchers. Returns {state: "live" | "wait" | "bad", text}.
export function connectionOf(states) {
  const of = (state) => states.filter((watcher) => watcher.state === state);
  const names = (list) => list.map((watcher) => watcher.label).join(", ");
  const denied = of("denied");
  if (denied.length === states.length) return { state: "bad", text: "No access: " + denied[0].detail };
  const without = denied.length > 0 ? `, without ${names(denied)} (${denied[0].detail})` : "";
  const retrying = of("retrying");
  if (retrying.length > 0) return { state: "bad", text: `Reconnecting: ${retrying[0].detail}${without}` };
  if (of("loading").length > 0) return { state: "wait", text: "Loading" };
  if (of("polling").length > 0) return { state: "wait", text: "Every 5 s: another window is live" + without };
  return { state: denied.length > 0 ? "wait" : "live", text: "Live" + without };
}

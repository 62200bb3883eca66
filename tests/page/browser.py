"""Drives headless Chromium over the DevTools protocol on a pipe: no port, no driver, nothing beyond the standard library."""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

# What a browser is called; $CHROMIUM names another.
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
PATIENCE = 60  # seconds, for anything that must come to pass


class Failure(AssertionError):
    pass


def find_browser():
    named = os.environ.get("CHROMIUM")
    for name in (named,) if named else NAMES:
        path = shutil.which(name)
        if path:
            return path
    raise Failure("no Chromium found: install it (scripts/install check), or name it in $CHROMIUM")


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="page-test-")
        theirs_in, write_end = os.pipe()
        read_end, theirs_out = os.pipe()
        arguments = [
            find_browser(), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
            # Only our own pages are loaded; its sandbox needs rights that root and containers do not have.
            "--no-sandbox",
            "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
            "--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none", "about:blank",
        ]

        # The protocol is on descriptors 3 (in) and 4 (out).
        def wire():
            high_in, high_out = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self.log = open(os.path.join(self.profile, "log"), "wb")
        self.process = subprocess.Popen(
            arguments, preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.writer, self.reader = os.fdopen(write_end, "wb", buffering=0), os.fdopen(read_end, "rb", buffering=0)
        self.rest = b""
        self.number = 0
        self.events = []

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.writer.close()
        self.reader.close()
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _receive(self):
        while b"\0" not in self.rest:
            piece = self.reader.read(1 << 20)
            if not piece:
                with open(self.log.name, errors="replace") as log:
                    raise Failure("the browser has ended: " + log.read()[-2000:])
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self.writer.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def page(self, url, width=1280, height=900, scheme="light", motion="no-preference", colors="none"):
        return Page(self, url, width, height, scheme, motion, colors)


class Page:
    """One tab. It notes every request, console error and exception."""

    def __init__(self, browser, url, width, height, scheme, motion, colors):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion, "forced-colors": colors}
        self.call("Emulation.setEmulatedMedia", features=[{"name": k, "value": v} for k, v in features.items()])
        self.call("Page.navigate", url=url)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def run(self, script):
        """The value of an expression, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failure(f"{script}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def wait(self, script, what=""):
        """Waits until an expression is true; returns its value."""
        end = time.monotonic() + PATIENCE
        value = None
        while time.monotonic() < end:
            try:
                value = self.run(script)
            except Failure as failure:
                value = None
                if "context" not in str(failure) and "null" not in str(failure):
                    raise
            if value:
                return value
            time.sleep(0.02)
        raise Failure(f"waited in vain for {what or script}; the page shows:\n" + self.run("document.body.innerText")[:3000])

    def shows(self, text):
        """Waits until a text can be read: what `content-visibility` leaves out is there only after the next frame was drawn."""
        self.wait(f"document.body.innerText.includes({json.dumps(text)})", f"the text {text!r}")

    def press(self, key, control=False, shift=False):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
                 "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
        code = codes.get(key, ord(key[0].upper()))
        event = {"key": key, "windowsVirtualKeyCode": code, "modifiers": (2 if control else 0) + (8 if shift else 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path, whole=True):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def accessible(self):
        """The accessibility tree as [(role, name)]."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n.get("ignored")]

    def _own(self):
        self.run("1")
        return [e for e in self.browser.events if e.get("sessionId") == self.session]

    def complaints(self):
        """What the browser or the script complained of."""
        found = []
        for event in self._own():
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(event["params"]["exceptionDetails"])[:500])
            elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["source"] != "network":
                found.append(event["params"]["entry"]["text"])
        return found

    def requests(self):
        """Every URL that was asked for."""
        return [e["params"]["request"]["url"] for e in self._own() if e["method"] == "Network.requestWillBeSent"]

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

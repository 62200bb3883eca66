"""The page of address-sandbox: the shipped program with both controllers, a browser, and the door between them."""
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.parse

from browser import PATIENCE, Browser
from cluster import API, METALLB
from page_test import label

BINARY = []  # set by the runner
CLAIM = "local.sdn.cozystack.io/ip-address-claim"
GROUP = "/apis/local.sdn.cozystack.io/v1alpha1/"


class Sandbox:
    """Runs until close()."""

    def __init__(self, *arguments, path=None):
        self.dir = tempfile.mkdtemp(prefix="page-sandbox-")
        environment = dict(os.environ, **({"PATH": path} if path else {}))
        command = [BINARY[0], "--plain", "--dir", os.path.join(self.dir, "run"), *arguments]
        self.log = open(os.path.join(self.dir, "log"), "wb")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment)
        said = ""
        for line in self.process.stdout:
            said += line
            if line.startswith("Ctrl-C"):
                break
        found = dict(re.findall(r"^  (server|picture) +(\S+)$", said, re.M))
        if len(found) != 2:
            raise AssertionError("the sandbox has not started: " + said)
        self.server, self.picture = found["server"], found["picture"]
        self.page = urllib.parse.urljoin(self.picture, "/")
        with open(os.path.join(self.dir, "run/kubeconfig"), encoding="utf-8") as file:
            self.token = re.search(r'token: "(\w+)"', file.read()).group(1)

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.log.close()
            shutil.rmtree(self.dir, ignore_errors=True)

    def api(self, method, path, body=None, expect=(200, 201, 202)):
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"}
        answer = ask(self.server + path, method, headers, json.dumps(body) if body else None)
        if answer.status not in expect:
            raise AssertionError(f"{method} {path}: {answer.status} {answer.text}")
        return answer


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.text = response.status, response.headers, response.read().decode()


def ask(url, method="GET", headers=None, body=None):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
    try:
        target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
        connection.request(method, target, body, headers or {})
        return Answer(connection.getresponse())
    finally:
        connection.close()


class InSandbox(unittest.TestCase):
    def start(self, *arguments, **options):
        sandbox = Sandbox(*arguments, **options)
        self.addCleanup(sandbox.close)
        return sandbox

    def test_the_life_of_an_address(self):
        sandbox = self.start()
        browser = Browser()
        self.addCleanup(browser.close)
        page = browser.page(sandbox.picture, width=1400)
        page.wait("document.getElementById('connection')?.textContent === 'Live'")
        self.assertEqual(page.run("location.href"), sandbox.page, "the key does not stay in the address bar")
        sandbox.api("POST", GROUP + "ipaddressclasses", {"apiVersion": API, "kind": "IPAddressClass", "metadata": {"name": "public"}, "spec": {
            "provisioner": METALLB, "parameters": {"addresses": ["203.0.113.0/24", "2001:db8::/64"], "exclude": ["203.0.113.1"]}}})
        claims = GROUP + "namespaces/default/ipaddressclaims"
        sandbox.api("POST", claims, {"apiVersion": API, "kind": "IPAddressClaim", "metadata": {"name": "web"}, "spec": {"className": "public", "family": "IPv4"}})
        page.wait(label("203.0.113.2") + " === '203.0.113.2, held: claim default/web'")
        self.assertEqual(page.run(label("203.0.113.1")), "203.0.113.1, excluded")
        services = "/api/v1/namespaces/default/services"
        sandbox.api("POST", services, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "site", "annotations": {CLAIM: "web"}},
                                       "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}})
        page.wait(label("203.0.113.2") + " === '203.0.113.2, attached: claim default/web, Service default/site'")
        sandbox.api("DELETE", services + "/site")
        page.wait(label("203.0.113.2") + " === '203.0.113.2, held: claim default/web'")
        sandbox.api("DELETE", claims + "/web")
        page.wait(label("203.0.113.2") + " === '203.0.113.2, released: claim default/web'")
        told = "[...document.querySelectorAll('#feed-list .reason')].map((node) => node.textContent)"
        page.wait(told + ".includes('Released')")
        self.assertIn("253 IPv4 addresses, 252 free; 18,446,744,073,709,551,616 IPv6 addresses", page.run("document.querySelector('.numbers').textContent"))
        self.assertEqual(page.complaints(), [])
        self.assertEqual([url for url in page.requests() if not url.startswith(sandbox.page)], [])

    def test_the_door(self):
        sandbox = self.start("--no-controllers")
        page = sandbox.page
        opened = ask(sandbox.picture)
        cookie = opened.headers["Set-Cookie"]
        self.assertEqual((opened.status, opened.headers["Location"]), (303, "/"))
        self.assertIn("; HttpOnly", cookie)
        self.assertIn("; SameSite=Strict", cookie)
        known = {"Cookie": "other=1; " + cookie.split(";")[0]}
        inside = ask(page, headers=known)
        self.assertEqual(inside.status, 200)
        self.assertTrue(inside.headers["Content-Security-Policy"].startswith("default-src 'none'; "))
        self.assertIn("frame-ancestors 'none'", inside.headers["Content-Security-Policy"])
        self.assertEqual(ask(page + "page.js", headers=known).headers["Content-Type"], "text/javascript; charset=utf-8")
        self.assertEqual(json.loads(ask(page + "api/v1/services?limit=5", headers=known).text)["kind"], "ServiceList")

        port = urllib.parse.urlsplit(page).port
        refused = [
            (page, {}, "GET", 403), (page + "page.js", {}, "GET", 403), (page + "api/v1/services", {}, "GET", 403),
            (page + "?key=", {}, "GET", 403), (page + "?key=" + "0" * 48, {}, "GET", 403),
            (page, {"Cookie": f"address-sandbox-{port}="}, "GET", 403), (page, {"Cookie": f"address-sandbox-{port}x=" + cookie.split("=")[1]}, "GET", 403),
            (page, {**known, "Host": f"evil.example:{port}"}, "GET", 421), (page, {**known, "Host": "127.0.0.1"}, "GET", 421),
            (page + "api/v1/services", known, "DELETE", 405), (page + "api/v1/namespaces/default/services", known, "POST", 405),
            (page + "api/v1/secrets", known, "GET", 404), (page + "api/v1/services/", known, "GET", 404), (page + "api", known, "GET", 404),
            (page + "api/v1/namespaces/default/services/x", known, "GET", 404), (page + "%61pi/v1/services", known, "GET", 404),
        ]
        for url, headers, method, status in refused:
            answer = ask(url, method, headers)
            self.assertEqual(answer.status, status, (method, url, headers, answer.text))
            self.assertIn("Content-Security-Policy", answer.headers)
        # The API's own refusals are not to be talked around by headers of the browser.
        masked = ask(page + "api/v1/services", headers={**known, "Impersonate-User": "kubernetes-admin", "Authorization": "Bearer wrong"})
        self.assertEqual(masked.status, 200)

    def test_a_browser_at_the_server_is_shown_the_way(self):
        sandbox = self.start("--no-controllers")
        shown = ask(sandbox.server, headers={"Accept": "text/html,*/*;q=0.8"})
        self.assertEqual((shown.status, shown.headers["Location"]), (302, sandbox.page))
        self.assertNotIn("key", shown.headers["Location"])
        self.assertEqual(ask(sandbox.server, headers={"Accept": "application/json"}).status, 403)
        self.assertEqual(ask(sandbox.server + "/apis", headers={"Accept": "text/html"}).status, 403)

    def test_open_shows_it_once(self):
        tools = tempfile.mkdtemp(prefix="page-tools-")
        self.addCleanup(shutil.rmtree, tools)
        shown = os.path.join(tools, "shown")
        with open(os.path.join(tools, "xdg-open"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nprintf %s "$1" > {shown}.part && mv {shown}.part {shown}\n')
        os.chmod(file.name, 0o755)
        sandbox = self.start("--no-controllers", "--open", path=tools + ":" + os.environ["PATH"])
        end = time.monotonic() + PATIENCE
        while not os.path.exists(shown):
            self.assertLess(time.monotonic(), end, "nothing was opened")
            time.sleep(0.01)
        with open(shown, encoding="utf-8") as file:
            url = file.read()
        self.assertNotEqual(url, sandbox.picture)
        self.assertEqual([ask(url).status, ask(url).status, ask(sandbox.picture).status], [303, 403, 303])


if __name__ == "__main__":
    unittest.main()

"""An API server just real enough for the page: lists with pages, watches, bookmarks, expired versions, refusals. Serves the page's
files as well, so that both have one origin."""
import json
import os
import queue
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GROUP = "/apis/local.sdn.cozystack.io/v1alpha1/"
PATHS = {
    GROUP + "ipaddressclasses": "IPAddressClass", GROUP + "ipaddresses": "IPAddress", GROUP + "ipaddressclaims": "IPAddressClaim",
    "/api/v1/services": "Service", "/apis/events.k8s.io/v1/events": "Event",
}
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml"}


class FakeApi:
    """All methods may be called from any thread."""

    def __init__(self, folders):
        """`folders`: URL prefix -> folder of files; the longest prefix counts."""
        self.folders = folders
        self.lock = threading.RLock()
        self.version = 100
        self.objects = {kind: {} for kind in PATHS.values()}
        self.watchers = []     # (kind, queue)
        self.refused = {}      # kind -> status
        self.oldest = 0        # watches from before are refused with 410
        self.log = []          # (path, query)
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                api.serve(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.drop()
        self.server.shutdown()
        self.server.server_close()

    # ---- what tests do to the cluster

    def put(self, *objects):
        with self.lock:
            for given in objects:
                kind, meta = given["kind"], given["metadata"]
                key = (meta.get("namespace", ""), meta["name"])
                self.version += 1
                known = self.objects[kind].get(key)
                item = json.loads(json.dumps(given))
                item["metadata"].setdefault("uid", f"uid-{kind}-{'-'.join(key)}")
                item["metadata"].setdefault("creationTimestamp", "2026-01-02T03:04:05Z")
                item["metadata"]["resourceVersion"] = str(self.version)
                self.objects[kind][key] = item
                self._tell(kind, {"type": "MODIFIED" if known else "ADDED", "object": item})

    def delete(self, kind, name, namespace=""):
        with self.lock:
            self.version += 1
            item = self.objects[kind].pop((namespace, name))
            item["metadata"]["resourceVersion"] = str(self.version)
            self._tell(kind, {"type": "DELETED", "object": item})

    def clear(self):
        """Empties the cluster without telling anybody."""
        with self.lock:
            for kind in self.objects:
                self.objects[kind] = {}

    def bookmark(self):
        with self.lock:
            for kind, stream in self.watchers:
                stream.put({"type": "BOOKMARK", "object": {"kind": kind, "metadata": {"resourceVersion": str(self.version)}}})

    def expire(self):
        """Every running watch ends with 410, and none can go on from before."""
        with self.lock:
            self.version += 1
            self.oldest = self.version
            status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
            for _, stream in self.watchers:
                stream.put({"type": "ERROR", "object": status})

    def drop(self):
        """Cuts all watches."""
        with self.lock:
            for _, stream in self.watchers:
                stream.put(None)
            self.watchers = []

    def watching(self):
        with self.lock:
            return len(self.watchers)

    def watching_after_a_sign(self):
        """As watching(), after a bookmark that makes streams whose reader is gone end."""
        self.bookmark()
        return self.watching()

    def asked(self, text):
        """Requests whose path and query contain `text`."""
        with self.lock:
            return [line for line in self.log if text in line]

    def _tell(self, kind, event):
        for watched, stream in self.watchers:
            if watched == kind:
                stream.put(event)

    # ---- serving

    def serve(self, request):
        url = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        with self.lock:
            self.log.append(request.path)
        kind = PATHS.get(url.path)
        if not kind:
            self._file(request, url.path)
        elif self.refused.get(kind):
            code = self.refused[kind]
            self._json(request, code, {"kind": "Status", "code": code, "message": f"{kind} is forbidden: no"})
        elif query.get("watch") == "true":
            self._watch(request, kind, query)
        else:
            self._list(request, kind, query)

    def _list(self, request, kind, query):
        with self.lock:
            items = [item for _, item in sorted(self.objects[kind].items())]
            version = str(self.version)
        begin, limit = int(query.get("continue") or 0), int(query.get("limit") or 0)
        end = begin + limit if limit else len(items)
        meta = {"resourceVersion": version}
        if end < len(items):
            meta["continue"] = str(end)
        self._json(request, 200, {"kind": kind + "List", "metadata": meta, "items": items[begin:end]})

    def _watch(self, request, kind, query):
        stream = queue.Queue()
        with self.lock:
            since = int(query["resourceVersion"])
            expired = since < self.oldest
            if not expired:
                for item in self.objects[kind].values():
                    if int(item["metadata"]["resourceVersion"]) > since:
                        stream.put({"type": "MODIFIED", "object": item})
                self.watchers.append((kind, stream))
        if expired:
            self._json(request, 410, {"kind": "Status", "code": 410, "message": "too old resource version"})
            return
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Connection", "close")
        request.end_headers()
        request.close_connection = True
        try:
            while (event := stream.get()) is not None:
                request.wfile.write(json.dumps(event).encode() + b"\n")
                request.wfile.flush()
                if event["type"] == "ERROR":
                    break
        except OSError:
            pass
        with self.lock:
            self.watchers = [pair for pair in self.watchers if pair[1] is not stream]

    def _file(self, request, path):
        prefix = max((p for p in self.folders if path.startswith(p)), key=len, default=None)
        name = "index.html" if prefix is None or path == prefix else path[len(prefix):]
        full = os.path.join(self.folders[prefix], name) if prefix is not None else ""
        if ".." in path or not os.path.isfile(full):
            self._send(request, 404, "text/plain", b"not found")
            return
        with open(full, "rb") as file:
            self._send(request, 200, TYPES[os.path.splitext(full)[1]], file.read())

    def _json(self, request, code, body):
        self._send(request, code, "application/json", json.dumps(body).encode())

    def _send(self, request, code, content_type, body):
        try:
            request.send_response(code)
            request.send_header("Content-Type", content_type)
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)
        except OSError:
            pass

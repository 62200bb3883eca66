"""A real control plane, helm and the shipped binaries, as the tests of the charts see them. Standard library and yaml only."""
import atexit
import json
import os
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

import yaml

SOURCES = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
IPAM = "/apis/local.sdn.cozystack.io/v1alpha1"


class Count:
    """Prints one line for each check that failed, and counts them all."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, good, detail=""):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}" + (f": {str(detail)[:2000]}" if detail else ""), flush=True)
        return good


def say(text):
    print(text, flush=True)


class UniqueKeys(yaml.SafeLoader):
    """Refuses a key that is there twice, of which one would win unseen."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{key} is there twice", node.start_mark)
        return super().construct_mapping(node, deep)


def documents(text):
    return [document for document in yaml.load_all(text, UniqueKeys) if document]


class Answer:
    def __init__(self, code, body):
        self.code = code
        self.body = body
        self.accepted = 200 <= code < 300

    @property
    def message(self):
        return self.body.get("message", "") if isinstance(self.body, dict) else str(self.body)


PLURALS = {"IPAddressClass": "ipaddressclasses", "IPAddress": "ipaddresses", "IPAddressPool": "ipaddresspools",
           "ValidatingAdmissionPolicy": "validatingadmissionpolicies", "MutatingAdmissionPolicy": "mutatingadmissionpolicies"}
CLUSTER_SCOPED = {"IPAddressClass", "IPAddress", "Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition",
                  "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",
                  "MutatingAdmissionPolicyBinding"}


def path_of(document, with_name=True):
    """The address of an object from its apiVersion, kind and metadata."""
    version, kind, meta = document["apiVersion"], document["kind"], document["metadata"]
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    plural = PLURALS.get(kind, kind.lower() + "s")
    where = "" if kind in CLUSTER_SCOPED else f"/namespaces/{meta.get('namespace', 'default')}"
    return f"{root}{where}/{plural}" + (f"/{meta['name']}" if with_name else "")


class Cluster:
    """etcd, API server, controller manager and MetalLB of tests/real/plane, in a folder of its own."""

    def __init__(self, real_dir, port, folder, api_flags=""):
        self.bin = os.path.join(real_dir, "bin")
        self.port = port
        self.folder = folder
        self.plane = os.path.join(SOURCES, "tests", "real", "plane")
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        self.env = dict(os.environ, REAL_DIR=real_dir, API_FLAGS=api_flags, HELM_CONFIG_HOME=folder + "/helm", HELM_CACHE_HOME=folder + "/helm",
                        HELM_DATA_HOME=folder + "/helm")
        self.tls = None

    def run_plane(self, verb, *arguments):
        subprocess.run([self.plane, verb, self.folder, *arguments], check=True, env=self.env, stdout=subprocess.DEVNULL)

    def start(self):
        atexit.register(self.stop)
        self.run_plane("start", str(self.port))
        self.run_plane("controllers")
        self.tls = ssl.create_default_context(cafile=os.path.join(self.folder, "certs", "apiserver.crt"))

    def stop(self):
        self.run_plane("stop")

    def open(self, method, path, body=None, user=None, group=None, kind=None, timeout=30, token="admin-token"):
        request = urllib.request.Request(f"https://127.0.0.1:{self.port + 2}{path}", method=method)
        request.add_header("Authorization", "Bearer " + token)
        if user:
            request.add_header("Impersonate-User", user)
            if group:
                request.add_header("Impersonate-Group", group)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", kind or "application/json")
        return urllib.request.urlopen(request, context=self.tls, timeout=timeout)

    def send(self, method, path, body=None, **more):
        try:
            with self.open(method, path, body, **more) as answer:
                return Answer(answer.status, json.loads(answer.read() or b"{}"))
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            try:
                return Answer(error.code, json.loads(text))
            except ValueError:
                return Answer(error.code, text)

    def get(self, path):
        return self.send("GET", path)

    def apply(self, document, **more):
        """Server-side apply as admin."""
        answer = self.send("PATCH", path_of(document) + "?fieldManager=tests&force=true", document,
                           kind="application/apply-patch+yaml", **more)
        if not answer.accepted:
            raise RuntimeError(f"{path_of(document)}: {answer.message}")
        return answer.body

    def apply_all(self, text):
        for document in documents(text):
            self.apply(document)

    def kubectl(self, *arguments):
        done = subprocess.run([os.path.join(self.bin, "kubectl"), "--kubeconfig", self.kubeconfig, *arguments], env=self.env,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def helm(self, *arguments):
        done = subprocess.run([os.path.join(self.bin, "helm"), "--kubeconfig", self.kubeconfig, *arguments], env=self.env,
                              capture_output=True, text=True, check=False)
        lines = [line for line in done.stderr.splitlines() if "found symbolic link" not in line]
        return done.returncode, done.stdout, "\n".join(lines)

    def must_helm(self, *arguments):
        code, out, complaint = self.helm(*arguments)
        if code:
            raise RuntimeError(f"helm {' '.join(arguments)}: {complaint}")
        return out


def wait_until(what, seconds, condition):
    end = time.monotonic() + seconds
    while True:
        seen = condition()
        if seen:
            return seen
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds} s for {what}")
        time.sleep(0.05)


class Controller:
    """A shipped binary, run as the Deployment says, with the rights of its service account and no others. There is no kubelet."""

    def __init__(self, cluster, binary, namespace, name, probes_port, log):
        self.cluster, self.binary, self.namespace, self.name = cluster, binary, namespace, name
        self.probes_port, self.log = probes_port, log
        self.process = None
        self.arguments = []

    def start(self):
        deployment = self.cluster.get(f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{self.name}")
        if not deployment.accepted:
            raise RuntimeError(deployment.message)
        pod = deployment.body["spec"]["template"]["spec"]
        container = pod["containers"][0]
        account = pod["serviceAccountName"]
        token = self.cluster.send("POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{account}/token",
                                  {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}})
        if not token.accepted:
            raise RuntimeError(token.message)
        kubeconfig = tempfile.NamedTemporaryFile("w", dir=self.cluster.folder, suffix=".kubeconfig", delete=False)
        with kubeconfig:
            yaml.safe_dump({
                "apiVersion": "v1", "kind": "Config", "current-context": "pod",
                "clusters": [{"name": "pod", "cluster": {"server": f"https://127.0.0.1:{self.cluster.port + 2}",
                                                         "certificate-authority": self.cluster.folder + "/certs/apiserver.crt"}}],
                "users": [{"name": "pod", "user": {"token": token.body["status"]["token"]}}],
                "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "pod"}}]}, kubeconfig)
        self.arguments = container["args"]
        # Only what cannot be the same outside of a pod is changed: where to listen, and where the API server is.
        arguments = [self._on_loopback(argument) for argument in self.arguments] + ["--kubeconfig=" + kubeconfig.name]
        env = {"PATH": os.environ["PATH"], "POD_NAME": self.name + "-0", "POD_NAMESPACE": self.namespace}
        self.command = {"args": [self.binary, *arguments], "stdin": subprocess.DEVNULL, "env": env}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(**self.command, stdout=log, stderr=log)
        atexit.register(self.stop)
        wait_until(f"{self.name} to be ready", 60, self.ready)

    def _on_loopback(self, argument):
        if argument.startswith("--health-probe-bind-address="):
            return f"--health-probe-bind-address=127.0.0.1:{self.probes_port}"
        if argument.startswith("--metrics-bind-address="):
            return f"--metrics-bind-address=127.0.0.1:{self.probes_port}"
        return argument

    def ready(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with status {self.process.returncode}; see {self.log}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.probes_port}/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def drain(self):
        """Runs the program that was stopped once more, as one that leaves. Its exit status, and what it printed."""
        run = subprocess.run(**{**self.command, "args": [*self.command["args"], "--drain"]}, capture_output=True, text=True, timeout=60, check=False)
        return run.returncode, run.stdout + run.stderr

    def stop(self):
        """Ends it as a kubelet would. Its exit status."""
        if self.process is None:
            return 0
        self.process.terminate()
        try:
            status = self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.process = None
        return status


class ServiceWatch(threading.Thread):
    """Follows all Services from one version on: after every event, `look(services)` gets them all, by (namespace, name)."""

    def __init__(self, cluster, look):
        super().__init__(daemon=True)
        self.cluster, self.look = cluster, look
        listed = cluster.get("/api/v1/services").body
        self.services = {self._key(item): item for item in listed["items"]}
        self.version = listed["metadata"]["resourceVersion"]
        self.events, self.broken = 0, ""
        self.ended = threading.Event()
        self.look(self.services)
        self.start()

    @staticmethod
    def _key(item):
        return item["metadata"]["namespace"], item["metadata"]["name"]

    def run(self):
        while not self.ended.is_set():
            try:
                with self.cluster.open("GET", f"/api/v1/services?watch=true&allowWatchBookmarks=true&resourceVersion={self.version}",
                                       timeout=5) as stream:
                    for line in stream:
                        self._take(json.loads(line))
                        if self.ended.is_set() or self.broken:
                            return
            except TimeoutError:   # nothing happened for a while: go on from the last version
                continue
            except OSError as error:
                if "timed out" not in str(error):
                    self.broken = f"the watch ended: {error}"
                    return

    def _take(self, event):
        if event["type"] == "ERROR":
            self.broken = f"the watch ended: {event['object']}"
            return
        item = event["object"]
        self.version = item["metadata"]["resourceVersion"]
        if event["type"] == "BOOKMARK":
            return
        self.events += 1
        if event["type"] == "DELETED":
            self.services.pop(self._key(item), None)
        else:
            self.services[self._key(item)] = item
        self.look(self.services)

    def end(self):
        """Catches up with a last write, then stops."""
        mark = self.cluster.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "mark", "namespace": "default", "annotations": {
            "at": str(time.time())}}, "spec": {"ports": [{"port": 1}], "selector": {"no": "pod"}}})
        wait_until("the watcher to catch up", 60, lambda: self.broken or int(self.version) >= int(mark["metadata"]["resourceVersion"]))
        self.ended.set()
        self.join(10)


def ingress(service):
    return [entry.get("ip") for entry in service.get("status", {}).get("loadBalancer", {}).get("ingress", [])]

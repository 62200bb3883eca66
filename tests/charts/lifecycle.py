"""Both charts installed, upgraded with changed definitions, rolled back, removed and installed again, by real helm, while addresses live.

The shipped binaries run with the service accounts and the arguments of the charts; a real MetalLB hands out. A watcher of all Services
asserts, after every single event, that each address is shown by somebody and each attached Service shows its own.
"""
import json
import os
import shutil

import yaml

from cluster import IPAM, SOURCES, Controller, ServiceWatch, ingress, say, wait_until
from render import chart_of

CORE, DRIVER = ("address-controller", "address-controller"), ("metallb-iad", "metallb-iad-system")
CLASS = {"apiVersion": "local.sdn.cozystack.io/v1alpha1", "kind": "IPAddressClass", "metadata": {"name": "live"},
         "spec": {"provisioner": "metallb.drivers.local.sdn.cozystack.io", "reclaimPolicy": "Delete", "parameters": {"addresses": ["10.50.0.0/24"]}}}
AUTOMATIC = {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool", "metadata": {"name": "automatic", "namespace": "metallb-system"},
             "spec": {"addresses": ["10.60.0.0/24"], "autoAssign": True}}
CLAIMS, ATTACHED = 8, 4
TENANT = {"user": "live-tenant"}


def claim_of(number):
    return f"{IPAM}/namespaces/live/ipaddressclaims/c{number}"


def service(name, claim=None):
    meta = {"name": name, "namespace": "live"}
    if claim:
        meta["annotations"] = {"local.sdn.cozystack.io/ip-address-claim": claim}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta,
            "spec": {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "selector": {"app": name}, "ports": [{"port": 80}]}}


class Live:
    def __init__(self, cluster, count, binaries, logs):
        self.cluster, self.count = cluster, count
        self.controllers = [Controller(cluster, os.path.join(binaries, name), namespace, name, cluster.port + 5 + index,
                                       os.path.join(logs, name + ".log"))
                            for index, (name, namespace) in enumerate((CORE, DRIVER))]
        self.addresses = {}      # claim -> address
        self.watch = None
        self.wrong = []

    # --- charts ---------------------------------------------------------------------------------------------------------------
    def previous(self):
        """Charts of a version before this one: other definitions, fewer policies, other arguments."""
        folder = os.path.join(self.cluster.folder, "previous")
        for name, _ in (CORE, DRIVER):
            shutil.copytree(chart_of(name), os.path.join(folder, name))
            path = os.path.join(folder, name, "Chart.yaml")
            with open(path, encoding="utf-8") as stream:
                chart = yaml.safe_load(stream)
            chart.update(version="0.0.9", appVersion="0.0.9")
            with open(path, "w", encoding="utf-8") as stream:
                yaml.safe_dump(chart, stream)
        os.remove(os.path.join(folder, "metallb-iad", "templates", "firstaddress.yaml"))
        path = os.path.join(folder, "address-controller", "files", "crds", "local.sdn.cozystack.io_ipaddresses.yaml")
        with open(path, encoding="utf-8") as stream:
            definition = yaml.safe_load(stream)
        version = definition["spec"]["versions"][0]
        version["additionalPrinterColumns"] = version["additionalPrinterColumns"][:1]
        version["schema"]["openAPIV3Schema"]["description"] = "Before."
        definition["spec"]["names"]["shortNames"] = ["ipaddrold"]
        with open(path, "w", encoding="utf-8") as stream:
            yaml.safe_dump(definition, stream)
        for name, _ in (CORE, DRIVER):
            self.cluster.must_helm("package", os.path.join(folder, name), "--destination", folder)
        return {name: os.path.join(folder, f"{name}-0.0.9.tgz") for name, _ in (CORE, DRIVER)}

    def definition(self):
        return self.cluster.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ipaddresses.local.sdn.cozystack.io").body

    def columns(self):
        return len(self.definition()["spec"]["versions"][0]["additionalPrinterColumns"])

    def established(self):
        for plural in ("ipaddressclasses", "ipaddresses", "ipaddressclaims"):
            wait_until(f"{plural} to be served", 30, lambda plural=plural: self.cluster.get(f"{IPAM}/{plural}").accepted)

    def roll(self):
        """What a kubelet does when the pods' template has changed: end the old ones, start new ones."""
        for controller in self.controllers:
            if controller.process:
                self.count.check(f"{controller.name} ends well", controller.stop() == 0)
        for controller in self.controllers:
            controller.start()

    # --- what must hold after every event ----------------------------------------------------------------------------------------
    def look(self, services):
        shown = set()
        for item in services.values():
            shown.update(ingress(item))
        for number in range(CLAIMS):
            address = self.addresses[f"c{number}"]
            if address not in shown:
                self.wrong.append(f"nobody shows {address} at {self.watch.version if self.watch else 'the start'}")
        for number in range(ATTACHED):
            mine = ingress(services.get(("live", f"s{number}"), {}))
            if mine != [self.addresses[f"c{number}"]]:
                self.wrong.append(f"s{number} shows {mine}")

    def still_held(self, after):
        self.watch.end()
        self.count.check(f"no address was revoked {after}", not self.watch.broken and not self.wrong,
                         self.watch.broken or "; ".join(self.wrong[:5]))
        events = self.watch.events
        self.watch, self.wrong = None, []
        return events

    def follow(self):
        self.watch = ServiceWatch(self.cluster, self.look)

    def at_rest(self):
        """Until every handoff is over: its last write takes the sharing key off, a moment after the address is shown."""
        wait_until("all handoffs to be over", 60, lambda: not [
            item for item in self.cluster.get("/api/v1/services").body["items"]
            if "metallb.io/allow-shared-ip" in item["metadata"].get("annotations", {})])

    def versions(self):
        """Of every tenant's Service and placeholder, to tell whether anything wrote to them."""
        items = self.cluster.get("/api/v1/services").body["items"]
        return {(i["metadata"]["namespace"], i["metadata"]["name"]): i["metadata"]["resourceVersion"] for i in items
                if i["spec"]["type"] == "LoadBalancer"}

    def works(self, name):
        """A new claim is served and goes again."""
        claim = {"apiVersion": "local.sdn.cozystack.io/v1alpha1", "kind": "IPAddressClaim", "metadata": {"name": name, "namespace": "live"},
                 "spec": {"className": "live"}}
        answer = self.cluster.send("POST", f"{IPAM}/namespaces/live/ipaddressclaims", claim, **TENANT)
        if not self.count.check(f"a tenant may claim ({name})", answer.accepted, answer.message):
            return
        path = f"{IPAM}/namespaces/live/ipaddressclaims/{name}"
        bound = wait_until(f"claim {name} to be bound", 60, lambda: self.bound(path))
        self.cluster.send("POST", "/api/v1/namespaces/live/services", service(name, name), **TENANT)
        wait_until(f"Service {name} to show it", 60, lambda: ingress(self.cluster.get(f"/api/v1/namespaces/live/services/{name}").body) == [bound])
        self.cluster.send("DELETE", f"/api/v1/namespaces/live/services/{name}", **TENANT)
        wait_until(f"Service {name} to go", 60, lambda: self.cluster.get(f"/api/v1/namespaces/live/services/{name}").code == 404)
        self.cluster.send("DELETE", path, **TENANT)
        wait_until(f"claim {name} to go", 60, lambda: self.cluster.get(path).code == 404)
        self.at_rest()
        self.count.check(f"a claim is served, attached, detached and released ({name})", True)

    def bound(self, path):
        status = self.cluster.get(path).body.get("status", {})
        return status["addresses"][0]["address"] if status.get("phase") == "Bound" else None

    # --- the story -----------------------------------------------------------------------------------------------------------------
    def install_previous(self, packages):
        helm = self.cluster.must_helm
        helm("install", "address-controller", packages["address-controller"], "--namespace", "address-controller", "--create-namespace")
        helm("install", "metallb-iad", packages["metallb-iad"], "--namespace", "metallb-iad-system", "--create-namespace")
        self.established()
        self.count.check("the previous definitions are installed", self.columns() == 1, self.columns())
        self.roll()

    def fill(self):
        self.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "live"}})
        self.cluster.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "live-tenant"}, "rules": [
            {"apiGroups": [""], "resources": ["services"], "verbs": ["*"]},
            {"apiGroups": ["local.sdn.cozystack.io"], "resources": ["ipaddressclaims"], "verbs": ["*"]}]})
        self.cluster.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {
            "name": "live-tenant", "namespace": "live"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": "live-tenant"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "live-tenant"}]})
        self.cluster.apply(CLASS)
        self.cluster.apply(AUTOMATIC)
        for number in range(CLAIMS):
            made = self.cluster.send("POST", f"{IPAM}/namespaces/live/ipaddressclaims", {
                "apiVersion": "local.sdn.cozystack.io/v1alpha1", "kind": "IPAddressClaim",
                "metadata": {"name": f"c{number}", "namespace": "live"}, "spec": {"className": "live"}}, **TENANT)
            if not made.accepted:
                raise RuntimeError(made.message)
        for number in range(CLAIMS):
            self.addresses[f"c{number}"] = wait_until(f"claim c{number} to be bound", 60, lambda number=number: self.bound(claim_of(number)))
        for number in range(ATTACHED):
            self.cluster.send("POST", "/api/v1/namespaces/live/services", service(f"s{number}", f"c{number}"), **TENANT)
        for number in range(ATTACHED):
            wait_until(f"s{number} to show its address", 60, lambda number=number: ingress(self.cluster.get(
                f"/api/v1/namespaces/live/services/s{number}").body) == [self.addresses[f"c{number}"]])
        held = sorted(self.addresses[f"c{number}"] for number in range(ATTACHED, CLAIMS))
        wait_until("every other address to be held", 60, lambda: sorted(sum((
            ingress(item) for item in self.cluster.get("/api/v1/namespaces/metallb-iad-system/services").body["items"]), [])) == held)
        self.at_rest()

    def upgrade(self):
        helm = self.cluster.must_helm
        self.follow()
        before = self.versions()
        helm("upgrade", "address-controller", chart_of("address-controller"), "--namespace", "address-controller", "--set", "log.level=debug")
        helm("upgrade", "metallb-iad", chart_of("metallb-iad"), "--namespace", "metallb-iad-system", "--set", "log.level=debug")
        self.count.check("the definitions are upgraded", self.columns() > 1 and
                         "ipaddr" in self.definition()["spec"]["names"]["shortNames"], self.definition()["spec"]["names"])
        self.roll()
        self.count.check("upgraded pods get the new arguments", all("--log-level=debug" in c.arguments for c in self.controllers))
        self.count.check("nothing was written to Services and placeholders by an upgrade", self.versions() == before)
        self.works("after-upgrade")
        self.still_held("by an upgrade")

    def roll_back(self):
        helm = self.cluster.must_helm
        self.follow()
        helm("rollback", "metallb-iad", "1", "--namespace", "metallb-iad-system")
        helm("rollback", "address-controller", "1", "--namespace", "address-controller")
        self.count.check("the definitions are rolled back", self.columns() == 1)
        self.roll()
        self.count.check("pods get the former arguments", all("--log-level=info" in c.arguments for c in self.controllers))
        self.works("after-rollback")
        self.still_held("by a rollback")

    def refuse_to_forget(self):
        """A namespace in which addresses are held is not forgotten; one in which none are is."""
        new = "metallb-holds"
        upgrade = ("upgrade", "metallb-iad", chart_of("metallb-iad"), "--namespace", "metallb-iad-system", "--set", f"placeholderNamespace={new}")
        former = "formerPlaceholderNamespaces={metallb-iad-system}"
        code, _, said = self.cluster.helm(*upgrade)
        self.count.check("placeholders are not left behind without a word", code != 0 and
                         "formerPlaceholderNamespaces: add metallb-iad-system" in said, said)
        role = "/apis/rbac.authorization.k8s.io/v1/namespaces/metallb-iad-system/roles/metallb-iad"
        self.count.check("the pods that are there keep their rights", self.cluster.get(role).accepted)
        self.follow()
        self.cluster.must_helm(*upgrade, "--set", former)
        code, _, said = self.cluster.helm(*upgrade)
        self.count.check("a former namespace is not forgotten too early", code != 0 and
                         "formerPlaceholderNamespaces: keep metallb-iad-system until" in said, said)
        self.roll()
        left = "/api/v1/namespaces/metallb-iad-system/services?labelSelector=metallb.drivers.local.sdn.cozystack.io/placeholder"
        wait_until("all placeholders to move", 120, lambda: not self.cluster.get(left).body["items"])
        self.at_rest()
        self.cluster.must_helm(*upgrade)
        self.roll()
        self.works("after-moving")
        back = upgrade[:-1] + ("placeholderNamespace=metallb-iad-system", "--set", f"formerPlaceholderNamespaces={{{new}}}")
        self.cluster.must_helm(*back)
        self.roll()
        left = left.replace("metallb-iad-system", new)
        wait_until("all placeholders to move back", 120, lambda: not self.cluster.get(left).body["items"])
        self.at_rest()
        self.still_held("by moving the placeholders to another namespace and back")

    def repair(self):
        """An upgrade brings back what was deleted by hand."""
        self.follow()
        path = "/apis/rbac.authorization.k8s.io/v1/namespaces/metallb-iad-system/roles/metallb-iad"
        self.cluster.send("DELETE", path)
        helm = self.cluster.must_helm
        helm("upgrade", "address-controller", chart_of("address-controller"), "--namespace", "address-controller")
        helm("upgrade", "metallb-iad", chart_of("metallb-iad"), "--namespace", "metallb-iad-system", "--reset-values")
        self.count.check("an upgrade makes a deleted role again", self.cluster.get(path).accepted)
        self.roll()
        self.works("after-repair")
        self.still_held("by an upgrade that repairs")

    def remove(self):
        helm = self.cluster.must_helm
        self.follow()
        helm("uninstall", "metallb-iad", "--namespace", "metallb-iad-system")
        helm("uninstall", "address-controller", "--namespace", "address-controller")
        for controller in self.controllers:
            controller.stop()
        meta = self.definition().get("metadata", {})
        self.count.check("definitions outlive the release", "name" in meta and "deletionTimestamp" not in meta, meta)
        left = [path for path in (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/metallb-iad", "/apis/rbac.authorization.k8s.io/v1/clusterroles/address-controller",
            "/apis/apps/v1/namespaces/metallb-iad-system/deployments/metallb-iad",
            "/api/v1/namespaces/metallb-iad-system/serviceaccounts/metallb-iad",
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/metallb-iad-services",
            "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/metallb-iad-first-address") if self.cluster.get(path).accepted]
        self.count.check("rights, policies and pods go with the release", not left, left)
        claims = self.cluster.get(f"{IPAM}/namespaces/live/ipaddressclaims").body["items"]
        self.count.check("claims outlive the release", sorted(
            c["metadata"]["name"] for c in claims if "deletionTimestamp" not in c["metadata"]) == sorted(self.addresses))
        self.cluster.run_plane("metallb", "0.16")   # a newer MetalLB that starts finds every address where it was
        probe = service("unclaimed")
        self.cluster.send("POST", "/api/v1/namespaces/live/services", probe, **TENANT)
        wait_until("MetalLB to serve again", 60, lambda: ingress(self.cluster.get("/api/v1/namespaces/live/services/unclaimed").body))
        self.cluster.send("DELETE", "/api/v1/namespaces/live/services/unclaimed", **TENANT)
        self.still_held("by removing both releases and upgrading MetalLB")

    def install_again(self):
        helm = self.cluster.must_helm
        self.follow()
        before = self.versions()
        allow = ("--set", "admission.allow.serviceAccounts={backup/velero}")
        helm("install", "address-controller", chart_of("address-controller"), "--namespace", "address-controller", "--create-namespace", *allow)
        notes = helm("install", "metallb-iad", chart_of("metallb-iad"), "--namespace", "metallb-iad-system", "--create-namespace", *allow)
        self.count.check("Helm tells what was installed", all(words in notes for words in (
            "namespace of placeholders  metallb-iad-system:", "raw pins                   refused, but for backup/velero, system:masters",
            "first address              a Service that names a claim shows no other address")), notes)
        self.established()
        self.roll()
        self.count.check("nothing is written to Services and placeholders by installing again", self.versions() == before)
        self.works("after-reinstall")
        self.still_held("by installing again")

    def finalizers(self):
        """Of the project, on every object that can have one."""
        paths = f"{IPAM}/ipaddresses", f"{IPAM}/ipaddressclaims", "/api/v1/services"
        return [name for path in paths for item in self.cluster.get(path).body["items"]
                for name in item["metadata"].get("finalizers", []) if "local.sdn.cozystack.io" in name]

    def drain(self):
        """Both controllers leave, and come back: nothing waits for them meanwhile, and no address is revoked."""
        self.follow()
        for controller in reversed(self.controllers):
            controller.stop()
            status, said = controller.drain()
            self.count.check(f"{controller.name} --drain ends when all is done", status == 0 and "has taken its finalizers off" in said, said)
        self.count.check("no finalizer is left by --drain", not self.finalizers(), self.finalizers())
        self.roll()
        wait_until("finalizers to come back", 60, lambda: len(self.finalizers()) == 3 * CLAIMS + ATTACHED)
        self.works("after-drain")
        self.still_held("by leaving with --drain")

    def first_address(self):
        """With the policy, a Service that names a claim never shows an address of the automatic pool, at no version."""
        shown = {}

        def look(services):
            for (namespace, name), item in services.items():
                if namespace == "live" and name.startswith("f"):
                    shown.setdefault(name, set()).update(ingress(item))
        watch = ServiceWatch(self.cluster, look)
        count = 20
        for number in range(count):   # the Service first: nothing else could give it an address as early
            self.cluster.send("POST", "/api/v1/namespaces/live/services", service(f"f{number}", f"f{number}"), **TENANT)
            self.cluster.send("POST", f"{IPAM}/namespaces/live/ipaddressclaims", {
                "apiVersion": "local.sdn.cozystack.io/v1alpha1", "kind": "IPAddressClaim", "metadata": {"name": f"f{number}", "namespace": "live"},
                "spec": {"className": "live"}}, **TENANT)
        self.cluster.send("POST", "/api/v1/namespaces/live/services", service("control"), **TENANT)
        control = wait_until("the automatic pool to serve", 60, lambda: ingress(self.cluster.get("/api/v1/namespaces/live/services/control").body))
        self.count.check("the automatic pool hands out", control[0].startswith("10.60.0."), control)
        wait_until("every Service to show its claim's address", 120, lambda: all(
            ingress(self.cluster.get(f"/api/v1/namespaces/live/services/f{number}").body) for number in range(count)))
        watch.end()
        self.count.check("a Service that names a claim shows its address and never another one", not watch.broken and len(shown) == count and
                         all(len(a) == 1 and next(iter(a)).startswith("10.50.0.") for a in shown.values()), watch.broken or shown)
        for number in range(count):
            self.cluster.send("DELETE", f"/api/v1/namespaces/live/services/f{number}", **TENANT)
            self.cluster.send("DELETE", f"{IPAM}/namespaces/live/ipaddressclaims/f{number}", **TENANT)

    def clear(self):
        """The way to be rid of it all that docs/install.md tells."""
        for kinds in (("ipclaim", "--all-namespaces"), ("ipaddr",), ("ipclass",)):
            self.cluster.kubectl("delete", *kinds, "--all", "--timeout=120s")
        wait_until("all pools to go", 60, lambda: not [
            item for item in self.cluster.get("/apis/metallb.io/v1beta1/ipaddresspools").body["items"]
            if item["metadata"]["name"].startswith("iad-")])
        left = [item["metadata"]["name"] for item in self.cluster.get("/api/v1/namespaces/metallb-iad-system/services").body["items"]
                if item["spec"]["type"] == "LoadBalancer"]
        self.count.check("no placeholder outlives the claims, addresses and classes", not left, left)
        marked = [item["metadata"]["name"] for item in self.cluster.get("/api/v1/namespaces/live/services").body["items"]
                  if "metallb.drivers" in json.dumps(item["metadata"].get("annotations", {})) + json.dumps(item["metadata"].get("finalizers", []))]
        self.count.check("Services carry nothing of the driver any more", not marked, marked)
        self.cluster.must_helm("uninstall", "metallb-iad", "--namespace", "metallb-iad-system")
        self.cluster.must_helm("uninstall", "address-controller", "--namespace", "address-controller")
        for controller in self.controllers:
            controller.stop()
        names = [f"ip{plural}.local.sdn.cozystack.io" for plural in ("addresses", "addressclaims", "addressclasses")]
        self.cluster.kubectl("delete", "crd", *names, "--timeout=60s")
        self.count.check("definitions can be deleted", self.definition().get("reason") == "NotFound")

    def take_over(self):
        """Definitions that kubectl installed become the release's."""
        helm, core = self.cluster.helm, ("install", "address-controller", chart_of("address-controller"), "--namespace", "address-controller")
        self.cluster.kubectl("apply", "-f", os.path.join(SOURCES, "crds"))
        self.established()
        code, _, complaint = helm(*core)
        self.count.check("Helm takes over nothing by itself", code != 0 and "invalid ownership metadata" in complaint, complaint)
        code, _, complaint = helm(*core, "--take-ownership")
        self.count.check("Helm takes definitions over when told to", code == 0, complaint)
        meta = self.definition()["metadata"]
        self.count.check("and keeps them", meta["annotations"].get("helm.sh/resource-policy") == "keep", meta)

    def nothing_was_refused(self):
        """No write of either controller met a missing right. The audit log has every write."""
        refused = []
        with open(os.path.join(self.cluster.folder, "audit.log"), encoding="utf-8") as stream:
            for line in stream:
                if '"code":403' not in line:
                    continue
                event = json.loads(line)
                if event["user"]["username"].endswith((":address-controller:address-controller", ":metallb-iad-system:metallb-iad")):
                    refused.append(f"{event['user']['username']} {event['verb']} {event['requestURI']}: {event['responseStatus'].get('message')}")
        return refused

    def stop(self):
        for controller in self.controllers:
            controller.stop()


def run_older(cluster, count, binaries, logs):
    """On an API server without mutating policies: installed, and it works."""
    live = Live(cluster, count, binaries, logs)
    try:
        cluster.run_plane("metallb", "0.16")
        live.established()
        there = cluster.get("/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies")
        count.check("there are no mutating policies", there.code == 404, there.code)
        live.roll()
        live.fill()
        live.follow()
        live.works("older")
        live.still_held("on an older API server")
    except (RuntimeError, OSError, KeyError) as error:
        count.check("on an older API server", False, error)
    finally:
        live.stop()
        cluster.run_plane("kill", "metallb")


def run(cluster, count, binaries, logs):
    live = Live(cluster, count, binaries, logs)
    steps = ("install the charts before these", lambda: live.install_previous(live.previous())), ("fill", live.fill), \
        ("upgrade", live.upgrade), ("roll back", live.roll_back), ("upgrade and repair", live.repair), \
        ("move the placeholders", live.refuse_to_forget), ("remove", live.remove), \
        ("install again", live.install_again), ("drain", live.drain), ("first address", live.first_address), ("clear", live.clear), \
        ("take over", live.take_over)
    try:
        cluster.run_plane("metallb", "0.15")
        for name, step in steps:
            say(f"   {name}")
            step()
            if name == "upgrade and repair":
                refused = live.nothing_was_refused()
                count.check("no right was missing", not refused, refused[:5])
    except (RuntimeError, OSError, KeyError) as error:
        count.check(f"lifecycle: {name}", False, error)
    finally:
        live.stop()
        cluster.run_plane("kill", "metallb")

"""Who may write what: the table admission.yaml on a real API server with the charts' policies. Every row is a dry run."""
import copy
import os
import time

import yaml

from cluster import IPAM, SOURCES, documents, path_of, wait_until

DRIVER = "system:serviceaccount:metallb-iad-system:metallb-iad"
CORE = "system:serviceaccount:address-controller:address-controller"
WHO = {
    "tenant": {"user": "tenant"},                     # edits Services and claims of its namespace
    "operator": {"user": "operator"},                 # may do everything, but is on no list
    "admin": {"user": "root", "group": "system:masters"},
    "backup": {"user": "system:serviceaccount:backup:velero"},
    "core": {"user": CORE},
    "driver": {"user": DRIVER},
    "metallb": {"user": "metallb"},
    "collector": {"user": "system:serviceaccount:kube-system:generic-garbage-collector"},
    "namespaces": {"user": "system:serviceaccount:kube-system:namespace-controller"},
    "manager": {"user": "system:kube-controller-manager"},
}


def table():
    with open(os.path.join(SOURCES, "tests", "charts", "admission.yaml"), encoding="utf-8") as stream:
        setup, rows = (expand(document) for document in yaml.safe_load_all(stream))
    return setup, rows


def expand(value):
    """{$networks: N} and {$addresses: N} as lists."""
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$networks" in value:
        return [f"10.{number // 256}.{number % 256}.0/24" for number in range(value["$networks"])]
    if "$addresses" in value:
        return [f"198.18.{number // 256}.{number % 256}" for number in range(value["$addresses"])] + ([value["and"]] if "and" in value else [])
    return {key: expand(item) for key, item in value.items()}


def load(cluster, setup):
    """Objects that were there before the policies, with their status."""
    for document in setup["objects"]:
        status = document.pop("status", None)
        cluster.apply(document)
        if status:
            answer = cluster.send("PATCH", path_of(document) + "/status", {"status": status}, kind="application/merge-patch+json")
            if not answer.accepted:
                raise RuntimeError(f"{path_of(document)}/status: {answer.message}")


def send(cluster, row, base):
    who = WHO[row["as"]]
    verb, target = next((verb, row[verb]) for verb in ("create", "patch", "delete", "deleteAll") if verb in row)
    if verb == "create":
        document = copy.deepcopy(base[target["like"]])
        document["metadata"]["name"] = target.get("name", "made")
        merge(document, {key: value for key, value in target.items() if key not in ("like", "name")})
        return cluster.send("POST", path_of(document, with_name=False) + "?dryRun=All", document, **who)
    if verb == "patch":
        change = {key: value for key, value in target.items() if key not in ("object", "status of")}
        path = path_of(base[target["object"]]) if "object" in target else path_of(base[target["status of"]]) + "/status"
        return cluster.send("PATCH", path + "?dryRun=All", change, kind="application/merge-patch+json", **who)
    path = path_of(base[target], with_name=verb == "delete")
    return cluster.send("DELETE", path + "?dryRun=All", {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}, **who)


def merge(into, what):
    for key, value in what.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def problem_of(row, answer):
    if "refuse" in row:
        if answer.accepted:
            return "was accepted"
        if answer.code not in (403, 422) or "ValidatingAdmissionPolicy" not in answer.message:
            return f"was refused by somebody else: {answer.code} {answer.message}"
        missing = [words for words in ([row["refuse"]] if isinstance(row["refuse"], str) else row["refuse"]) if words not in answer.message]
        return f"'{missing[0]}' is not in: {answer.message}" if missing else ""
    if not answer.accepted:
        return f"{answer.code} {answer.message}"
    have = answer.body.get("metadata", {}).get("annotations", {})
    for key, value in row.get("annotations", {}).items():
        if have.get(key) != value:
            return f"annotation {key} is {have.get(key)}, not {value}"
    return ""


def wait_for_policies(cluster, mutating):
    """They count some time after they were written: until one of each has been seen to refuse, or to change, something."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "probe", "namespace": "default", "annotations": {}},
               "spec": {"type": "LoadBalancer", "ports": [{"port": 1}]}}

    def try_service(change):
        document = copy.deepcopy(service)
        merge(document, change)
        return cluster.send("POST", "/api/v1/namespaces/default/services?dryRun=All", document, **WHO["operator"])

    wait_until("the policy on pins", 30, lambda: try_service({"metadata": {"annotations": {"metallb.io/loadBalancerIPs": "1.2.3.4"}}}).code == 403)
    wait_until("the policy on external IPs", 30, lambda: try_service({"spec": {"externalIPs": ["203.0.113.9"]}}).code == 403)
    wait_until("the policy on the first address", 30, lambda: not mutating or "metallb.io/address-pool" in try_service(
        {"metadata": {"annotations": {"local.sdn.cozystack.io/ip-address-claim": "web"}}}).body["metadata"]["annotations"])
    claim = {"apiVersion": "local.sdn.cozystack.io/v1alpha1", "kind": "IPAddressClaim", "spec": {},
             "metadata": {"name": "probe", "namespace": "default", "annotations": {"local.sdn.cozystack.io/provisioner": "x"}}}
    wait_until("the policy on claims", 30, lambda: cluster.send(
        "POST", f"{IPAM}/namespaces/default/ipaddressclaims?dryRun=All", claim, **WHO["operator"]).code == 403)
    wait_until("the policy on deletions", 30, lambda: cluster.send(
        "DELETE", "/api/v1/namespaces/metallb-iad-system?dryRun=All", **WHO["operator"]).code == 403)


def without_definitions(cluster, count):
    """The driver's chart before the core's: its policies must not stand in anybody's way."""
    cluster.must_helm("install", "metallb-iad", os.path.join(SOURCES, "charts", "metallb-iad"), "--namespace", "metallb-iad-system",
                      "--create-namespace")
    cluster.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "tests-operator"},
                   "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                   "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "operator"}]})
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "early", "annotations": {}},
               "spec": {"ports": [{"port": 1}], "externalIPs": ["198.51.100.1"]}}
    where = "/api/v1/namespaces/default/services?dryRun=All"

    def pinned():
        document = copy.deepcopy(service)
        document["metadata"]["annotations"]["metallb.io/loadBalancerIPs"] = "1.2.3.4"
        return cluster.send("POST", where, document, **WHO["operator"])
    wait_until("the policy on pins", 30, lambda: pinned().code == 403)
    for when in ("at once", "after the API server's restart"):
        answer = cluster.send("POST", where, service, **WHO["operator"])
        count.check(f"Services can be written while no IPAddressClass is served ({when})", answer.accepted, answer.message)
        refused = wait_until("the policy on pins", 30, lambda: pinned().message if pinned().code == 403 else "")
        count.check(f"and pins are refused ({when})", "metallb-iad-services" in refused, refused)
        if when == "at once":
            cluster.run_plane("restart-api")
    cluster.must_helm("uninstall", "metallb-iad", "--namespace", "metallb-iad-system")


def policies_are_sound(cluster, count):
    """The server found nothing wrong with their types."""
    for plural in ("validatingadmissionpolicies",):
        for item in cluster.get(f"/apis/admissionregistration.k8s.io/v1/{plural}").body["items"]:
            name = item["metadata"]["name"]
            state = wait_until(f"the server to look at {name}", 30, lambda name=name: checked(cluster, plural, name))
            warnings = state.get("typeChecking", {}).get("expressionWarnings", [])
            count.check(f"the types of policy {name}", not warnings, warnings)


def checked(cluster, plural, name):
    item = cluster.get(f"/apis/admissionregistration.k8s.io/v1/{plural}/{name}").body
    status = item.get("status", {})
    return status if status.get("observedGeneration") == item["metadata"]["generation"] else None


def run(cluster, count, wanted, mutating=True):
    """Needs both charts installed, with backup/velero on their lists. Without mutating policies nothing gets a first address."""
    setup, rows = table()
    base = {}
    for document in setup["objects"]:
        base[document["kind"] + " " + document["metadata"]["name"]] = copy.deepcopy(document)
    for document in documents(setup["templates"]):
        base[document["kind"] + " " + document["metadata"]["name"]] = document
    wait_for_policies(cluster, mutating)
    began, rows = time.monotonic(), [row for row in rows if wanted(row["name"]) and (
        mutating or "iad-awaiting-claim" not in row.get("annotations", {}).values())]
    for row in rows:
        problem = problem_of(row, send(cluster, row, base))
        count.check(f"admission: {row['name']}", not problem, problem)
    return len(rows), time.monotonic() - began

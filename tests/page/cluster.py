"""Objects of clusters that the page is shown, as short as a test wants to write them."""

API = "local.sdn.cozystack.io/v1alpha1"
METALLB = "metallb.drivers.local.sdn.cozystack.io"


def ip_class(name, addresses, default=False, provisioner=METALLB, status=None, **parameters):
    meta = {"name": name}
    if default:
        meta["annotations"] = {"ipaddressclass.local.sdn.cozystack.io/is-default-class": "true"}
    item = {"apiVersion": API, "kind": "IPAddressClass", "metadata": meta,
            "spec": {"provisioner": provisioner, "reclaimPolicy": "Retain", "parameters": {"addresses": addresses, **parameters}}}
    if status:
        item["status"] = status
    return item


def address(ip, cls="public", phase="Available", claim=None, service=None, policy="Retain", deleting=False, name=None, conditions=None):
    """`claim` and `service` as "namespace/name"."""
    name = name or "ip-" + ip.replace(".", "-").replace(":", "-")
    meta = {"name": name}
    if deleting:
        meta["deletionTimestamp"] = "2026-01-02T03:05:05Z"
    spec = {"address": ip, "className": cls, "reclaimPolicy": policy, "source": {"fromClass": {}}}
    status = {"phase": phase}
    if claim:
        namespace, claim_name = claim.split("/")
        spec["claimRef"] = {"namespace": namespace, "name": claim_name, "uid": f"uid-IPAddressClaim-{namespace}-{claim_name}"}
    if service:
        namespace, service_name = service.split("/")
        status["associatedTo"] = {"kind": "Service", "namespace": namespace, "name": service_name}
    if conditions:
        status["conditions"] = conditions
    return {"apiVersion": API, "kind": "IPAddress", "metadata": meta, "spec": spec, "status": status}


def claim(full, cls="public", phase="Bound", ips=(), family="IPv4", reason=None, message=""):
    namespace, name = full.split("/")
    status = {"phase": phase, "className": cls, "addresses": [{"name": "ip-" + ip, "address": ip} for ip in ips]}
    if reason:
        status["conditions"] = [{"type": "Provisioning", "status": "False", "reason": reason, "message": message}]
    return {"apiVersion": API, "kind": "IPAddressClaim", "metadata": {"namespace": namespace, "name": name},
            "spec": {"className": cls, "family": family}, "status": status}


def service(full, *ips, labels=None):
    namespace, name = full.split("/")
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace, "name": name, "labels": labels or {}},
            "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": ip} for ip in ips]}}}


def placeholder(name, ip):
    return service("metallb-iad-system/" + name, ip, labels={METALLB + "/placeholder": "true"})


def event(name, about, reason, note, warning=False, at="2026-01-02T03:04:05.000000Z"):
    kind, full = about.split(" ")
    namespace, _, object_name = full.rpartition("/")
    return {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"namespace": namespace or "default", "name": name},
            "eventTime": at, "type": "Warning" if warning else "Normal", "reason": reason, "note": note,
            "regarding": {"kind": kind, "namespace": namespace, "name": object_name}}


def busy():
    """A cluster that has something of everything."""
    condition = {"type": METALLB + "/Conflict", "status": "True", "reason": "InUse", "message": "another Service shows the address"}
    items = [
        ip_class("public", ["203.0.113.0/24", "192.0.2.10-192.0.2.40"], default=True, exclude=["203.0.113.1", "203.0.113.240/28"]),
        ip_class("six", ["2001:db8:1::/64"]),
        ip_class("edge", ["198.51.100.8/30"], status={"conditions": [
            {"type": "ParametersValid", "status": "False", "reason": "Overlap", "message": "addresses[0] overlaps with class public"}]}),
        address("203.0.113.2", phase="Bound", claim="shop/web", service="shop/web"),
        address("203.0.113.3", phase="Bound", claim="shop/mail"),
        address("203.0.113.4", phase="Released", claim="shop/old"),
        address("203.0.113.5"),
        address("203.0.113.6", phase="Pending"),
        address("203.0.113.7", phase="Conflict", claim="shop/api", conditions=[condition]),
        address("203.0.113.8", phase="Lost", claim="shop/lost"),
        address("203.0.113.9", phase="Bound", claim="blog/www", service="blog/www", deleting=True, policy="Delete"),
        address("203.0.113.33", claim="shop/later"),
        address("203.0.113.77", phase="Bound", claim="blog/cdn", service="blog/cdn"),
        address("192.0.2.10", phase="Bound", claim="shop/extra"),
        address("198.51.100.200", phase="Bound", claim="shop/outside"),
        address("2001:db8:1::1", cls="six", phase="Bound", claim="shop/web6", service="shop/web"),
        address("2001:db8:1::2", cls="six", phase="Bound", claim="blog/www6"),
        address("2001:db8:1:0:ffff:1:2:3", cls="six"),
        address("10.9.8.7", cls="gone", phase="Bound", claim="shop/kept"),
        service("shop/web", "203.0.113.2", "2001:db8:1::1"), service("blog/www", "203.0.113.9"), service("blog/cdn", "203.0.113.77"),
        service("other/thief", "203.0.113.7"), service("other/stray", "203.0.113.50"),
        placeholder("iad-ip-203-0-113-3", "203.0.113.3"), placeholder("iad-x-v4", "203.0.113.34"),
        claim("shop/late", phase="Pending", reason="Exhausted", message="no address of class public and family IPv4 is free"),
        claim("shop/nowhere", cls="", phase="Pending"),
        event("e1", "Service shop/web", "AddressAttached", "203.0.113.2 is attached", at="2026-01-02T03:04:01.000000Z"),
        event("e2", "IPAddress ip-203-0-113-7", "AddressConflict", "another Service shows 203.0.113.7", warning=True),
    ]
    for full, ip in (("shop/web", "203.0.113.2"), ("shop/mail", "203.0.113.3"), ("shop/api", "203.0.113.7"), ("blog/www", "203.0.113.9"),
                     ("blog/cdn", "203.0.113.77"), ("shop/extra", "192.0.2.10"), ("shop/outside", "198.51.100.200"),
                     ("shop/web6", "2001:db8:1::1"), ("blog/www6", "2001:db8:1::2"), ("shop/kept", "10.9.8.7")):
        items.append(claim(full, ips=[ip]))
    items.append(claim("shop/lost", phase="Lost", reason="AddressLost", message="203.0.113.8 is gone at its backend"))
    return items

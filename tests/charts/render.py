"""What the charts render: lint, the table of values, and that the rights are those of deploy/."""
import json
import os
import subprocess
import tempfile

import yaml

from cluster import SOURCES, documents

KUBE = ("--kube-version", "1.36.0")
MUTATING = ("--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")


def chart_of(name):
    return os.path.join(SOURCES, "charts", name)


def template(cluster, row):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=cluster.folder) as values:
        yaml.safe_dump(row.get("values", {}), values)
        values.flush()
        return cluster.helm("template", row.get("release", row["chart"]), row.get("from", chart_of(row["chart"])), "--namespace",
                            row.get("namespace", "here"), "--values", values.name, *KUBE, *(MUTATING if row.get("mutating", True) else ()))


def at(document, path):
    for step in path.split("/"):
        if isinstance(document, list):
            document = document[int(step)] if step.isdigit() and int(step) < len(document) else None
        elif isinstance(document, dict):
            document = document.get(step.replace("~", "/"))
        else:
            return None
    return document


def row_problem(cluster, row):
    code, out, complaint = template(cluster, row)
    if "refuse" in row:
        if code == 0:
            return "was rendered"
        return "" if row["refuse"] in complaint else f"refused with other words: {complaint}"
    if code:
        return complaint
    have = {f"{d['kind']} {d['metadata'].get('namespace', '')}/{d['metadata']['name']}".replace(" /", " "): d for d in documents(out)}
    for name in row.get("has", []):
        if name not in have:
            return f"{name} is missing in {sorted(have)}"
    for name in row.get("lacks", []):
        if name in have or (" " not in name and any(other.startswith(name + " ") for other in have)):
            return f"{name} is there"
    for name, wanted in row.get("see", {}).items():
        for path, value in wanted.items():
            seen = at(have.get(name), path)
            if seen != value:
                return f"{name} {path} is {json.dumps(seen)}, not {json.dumps(value)}"
    if row.get("accepted"):   # a real API server takes it
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=cluster.folder) as manifest:
            manifest.write(out)
            manifest.flush()
            done = subprocess.run([cluster.bin + "/kubectl", "--kubeconfig", cluster.kubeconfig, "apply", "--dry-run=server", "-f", manifest.name],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                return done.stderr
    return ""


def roles(text):
    """What each subject may do where, as sorted texts."""
    found, bound = {}, set()
    for document in documents(text):
        kind, meta = document["kind"], document["metadata"]
        if kind in ("Role", "ClusterRole"):
            found[kind, meta.get("namespace"), meta["name"]] = document["rules"]
        elif kind in ("RoleBinding", "ClusterRoleBinding"):
            ref = document["roleRef"]
            for subject in document["subjects"]:
                bound.add((subject["namespace"], subject["name"], meta.get("namespace"), ref["kind"], ref["name"]))
    out = set()
    for namespace, account, where, kind, name in bound:
        for rule in found[kind, where if kind == "Role" else None, name]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        out.add(f"{namespace}/{account} may {verb} {group}/{resource} {rule.get('resourceNames', '')} in {where}")
    return out


def pods_are_restricted(cluster, count):
    """The pods pass the level `restricted` of pod security, and what is refused without their settings shows that somebody looks."""
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": "restricted", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    for name in ("address-controller", "metallb-iad"):
        pod = next(d for d in documents(template(cluster, {"chart": name})[1]) if d["kind"] == "Deployment")["spec"]["template"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod["spec"]}
        where = "/api/v1/namespaces/restricted/pods?dryRun=All"
        answer = cluster.send("POST", where, pod)
        count.check(f"pods of {name} are restricted", answer.accepted, answer.message)
        for settings in (pod["spec"], pod["spec"]["containers"][0]):
            kept = settings.pop("securityContext")
            answer = cluster.send("POST", where, pod)
            count.check(f"pods of {name} need their settings for that", not answer.accepted and "PodSecurity" in answer.message, answer.message)
            settings["securityContext"] = kept


def run(cluster, count, wanted):
    for name, namespace, manifests, values in (
            ("address-controller", "address-controller", ["core"], {}), ("metallb-iad", "metallb-iad-system", ["driver"], {}),
            ("metallb-iad", "metallb-iad-system", ["driver", "driver-inventory"], {"inventory": True})):
        code, out, complaint = cluster.helm("lint", "--strict", chart_of(name), *KUBE)
        count.check(f"lint {name}", code == 0, out + complaint)
        code, out, complaint = cluster.helm("package", chart_of(name), "--destination", cluster.folder)
        if not count.check(f"package {name}", code == 0, complaint):
            continue
        package = out.split(": ")[-1].strip()
        plain = template(cluster, {"chart": name, "namespace": namespace, "values": values})[1]
        packed = template(cluster, {"chart": name, "namespace": namespace, "values": values, "from": package})[1]
        count.check(f"the package of {name} renders what its folder does", plain and plain == packed)
        deployed = set()
        for manifest in manifests:
            with open(os.path.join(SOURCES, "deploy", manifest + ".yaml"), encoding="utf-8") as stream:
                deployed |= roles(stream.read())
        rendered = roles(plain)
        count.check(f"the rights of chart {name} are those of deploy/ {' and '.join(manifests)}", deployed and deployed == rendered,
                    f"only in the chart {sorted(rendered - deployed)}, only in deploy/ {sorted(deployed - rendered)}")
    with open(os.path.join(SOURCES, "crds", "local.sdn.cozystack.io_ipaddresses.yaml"), encoding="utf-8") as stream:
        source = yaml.safe_load(stream)
    rendered = [d for d in documents(template(cluster, {"chart": "address-controller"})[1])
                if d["kind"] == "CustomResourceDefinition" and d["metadata"]["name"] == source["metadata"]["name"]]
    count.check("a definition is rendered as it is in crds/", rendered and rendered[0]["spec"] == source["spec"])
    pods_are_restricted(cluster, count)
    with open(os.path.join(SOURCES, "tests", "charts", "render.yaml"), encoding="utf-8") as stream:
        rows = yaml.safe_load(stream)
    for row in rows:
        if wanted(row["name"]):
            problem = row_problem(cluster, row)
            count.check(f"values: {row['name']}", not problem, problem)

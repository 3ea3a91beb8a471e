"""The files below conf/ for others' machinery: that each is what its reader takes."""
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from helpers import BIN, ROOT, wait_for

CONF = ROOT / "conf"
KUBERNETES = CONF / "kubernetes"
MANIFESTS = sorted(path.relative_to(CONF) for kind in ("yaml", "yml") for path in CONF.rglob(f"*.{kind}"))


def starts(conf, work):
    """What the daemon says when it starts with that conf file, until it listens."""
    log = work / "conf.log"
    with log.open("wb") as err:
        daemon = subprocess.Popen([str(BIN), "--config", str(conf), "--listen", "127.0.0.1:0"], stderr=err)
    try:
        wait_for(lambda: "listening on" in log.read_text() or daemon.poll() is not None, 30, why=log.read_text)
        assert daemon.poll() is None, log.read_text()
    finally:
        daemon.terminate()
        daemon.wait(20)
    return log.read_text()


def assert_taken(said):
    """No error and no key that isn't known, but for what isn't built yet and so isn't in the conf file of all
    keys."""
    bad = [line for line in said.splitlines() if line.startswith("error") or "unknown key" in line]
    if "containers" not in (CONF / "stackprobe.conf").read_text():
        bad = [line for line in bad if "unknown key containers.root" not in line]
    assert not bad, said


def loaded(path):
    return list(yaml.safe_load_all((CONF / path).read_text()))


@pytest.mark.parametrize("path", MANIFESTS, ids=str)
def test_yaml_is_yaml(path):
    documents = loaded(path)
    assert documents and all(isinstance(one, dict) for one in documents)


def kustomized(folder):
    if not shutil.which("kubectl"):
        pytest.skip("kubectl, which has kustomize, is not installed")
    made = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return {(one["kind"], one["metadata"]["name"].rpartition("-")[0] or one["metadata"]["name"]): one
            for one in yaml.safe_load_all(made.stdout)}  # fmt: skip


def test_what_the_base_names_is_there():
    """Without kustomize, too."""
    (base,) = loaded("kubernetes/kustomization.yaml")
    files = base["resources"] + [name for one in base["configMapGenerator"] for name in one["files"]]
    assert all((KUBERNETES / name).is_file() for name in files)
    for name in base["resources"]:
        for one in loaded(f"kubernetes/{name}"):
            assert {"apiVersion", "kind", "metadata"} <= one.keys()


def test_the_daemonset_takes_no_more_than_it_says():
    (daemonset,) = loaded("kubernetes/daemonset.yaml")
    spec = daemonset["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    security = container["securityContext"]
    assert spec["hostPID"] and not spec["automountServiceAccountToken"]
    assert not spec.keys() & {"hostNetwork", "hostIPC"}
    assert security["readOnlyRootFilesystem"] and not security["privileged"]
    assert security["capabilities"]["drop"] == ["ALL"]
    assert "SYS_ADMIN" not in security["capabilities"]["add"]
    # The table in the document is of the same.
    text = (ROOT / "doc/fleet.md").read_text()
    assert set(re.findall(r"^\| ([A-Z_]+) \|", text, re.M)) == set(security["capabilities"]["add"])
    for mount in container["volumeMounts"]:
        assert mount["name"] in {one["name"] for one in spec["volumes"]}


def of_the_node(spec):
    """(name, path) of the volumes that are folders of the node."""
    return {(one["name"], one["hostPath"]["path"]) for one in spec["volumes"] if "hostPath" in one}


def assert_state_folders_alone(spec):
    """What it may write is its own; else it sees what runtimes keep of containers, each where containers.root has
    it, and neither the sockets by which these are commanded nor files of containers."""
    (container,) = spec["containers"]
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    own = {"/var/lib/stackprobe", "/var/log/stackprobe"}
    for name, path in of_the_node(spec):
        assert path in own or (mounts[name].get("readOnly") and mounts[name]["mountPath"] == f"/host{path}"), name
        assert path in own or re.search(r"/(io\.containerd\.(runtime\.v2\.task|metadata\.v1\.bolt)|overlay-containers|"
                                        r"docker/containers)$", path), path  # fmt: skip


def test_of_the_node_it_sees_what_runtimes_keep_of_containers():
    (daemonset,) = loaded("kubernetes/daemonset.yaml")
    spec = daemonset["spec"]["template"]["spec"]
    assert_state_folders_alone(spec)
    assert 'containers = { root = "/host"; };' in (KUBERNETES / "stackprobe.conf").read_text()


def test_kustomize_makes_it_one_and_the_daemon_takes_its_config_map():
    made = kustomized(KUBERNETES)
    assert {kind for kind, _ in made} == {"Namespace", "ServiceAccount", "ConfigMap", "DaemonSet"}
    assert all(one["metadata"].get("namespace", "stackprobe") == "stackprobe" for one in made.values())
    data = made["ConfigMap", "stackprobe"]["data"]
    mounted = made["DaemonSet", "stackprobe"]["spec"]["template"]["spec"]["volumes"][0]
    assert mounted["configMap"]["name"] == made["ConfigMap", "stackprobe"]["metadata"]["name"]
    assert data["stackprobe.conf"] == (KUBERNETES / "stackprobe.conf").read_text()
    assert data["probes.init"] == (KUBERNETES / "probes.init").read_text()


def test_with_the_component_it_listens_for_others(work):
    for name in ("stackprobe.conf", "probes.init"):
        shutil.copy(KUBERNETES / name, work)
    shutil.copytree(KUBERNETES, work / "base")
    (work / "kustomization.yaml").write_text("""
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: stackprobe
resources: [ base ]
components: [ base/metrics, base/k3s ]
images: [ { name: stackprobe, newName: registry.example/stackprobe, newTag: "7" } ]
configMapGenerator: [ { name: stackprobe, behavior: replace, files: [ stackprobe.conf, probes.init ] } ]
""")
    made = kustomized(work)
    (container,) = made["DaemonSet", "stackprobe"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/stackprobe:7"
    assert "--metrics-listen=0.0.0.0:9998" in container["args"]
    assert not any(arg.startswith("--listen") for arg in container["args"])
    assert made["Service", "stackprobe"]["spec"]["ports"][0]["targetPort"] == container["ports"][0]["name"]
    assert made["NetworkPolicy", "stackprobe"]["spec"]["ingress"][0]["ports"] == [{"protocol": "TCP", "port": 9998}]
    spec = made["DaemonSet", "stackprobe"]["spec"]["template"]["spec"]
    assert_state_folders_alone(spec)
    assert "/run/k3s/containerd/io.containerd.runtime.v2.task" in {path for _, path in of_the_node(spec)}


@pytest.mark.quick
@pytest.mark.parametrize("folder", ["gala-gopher", "kubernetes"])
def test_its_conf_file_is_taken_as_it_is(work, folder):
    """But for probes.init, which would profile this machine, and where its folders are: the socket's is open to all,
    as the kubelet makes an emptyDir."""
    run = work / "run"
    run.mkdir()
    run.chmod(0o777)
    text = (CONF / folder / "stackprobe.conf").read_text()
    text = re.sub(r"probes_init = [^;]*;", "", text).replace("/run/stackprobe", str(run))
    changed = text.replace("restore = false;", f'restore = false; probes_init = ""; state_dir = "{work}/state";')
    changed = changed.replace("upload =\n{", f'upload =\n{{ spool_dir = "{work}/spool";')
    assert "state_dir" in changed
    (work / "stackprobe.conf").write_text(changed)
    said = starts(work / "stackprobe.conf", work)
    assert_taken(said)
    assert folder != "kubernetes" or f"{run}/own/api.sock\n" in said


def test_the_daemonset_begins_with_its_probes_init(daemon, work):
    """Of the processes of a name that none has; else as it is. Its server is one that the conf file allows."""
    lines = [line for line in (KUBERNETES / "probes.init").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == 1
    path = work / "probes.init"
    changed = lines[0].replace('"comm": "."', '"comm": "^no-such-name$"')
    assert changed != lines[0]
    path.write_text(changed + "\n")
    allow = re.search(r"allow = [^;]*;", (KUBERNETES / "stackprobe.conf").read_text())[0]
    daemon.stop()
    conf = daemon.conf.read_text().replace("restore = ", f'probes_init = "{path}"; restore = ', 1)
    daemon.conf.write_text(f"{conf}upload = {{ {allow} }};\n")
    daemon.start()
    assert "refused" not in daemon.log
    settings = daemon.settings()
    wanted = json.loads(lines[0].split(maxsplit=1)[1])
    assert settings["state"] == "running" and wanted["params"].items() <= settings["params"].items()


def test_gala_gophers_conf_file_takes_our_entry(work):
    """gala-gopher 1.x: the command and its param become one line for a shell. That it is libconfig is asked
    of the daemon's own parser, which ignores what it doesn't know."""
    path = CONF / "gala-gopher/extend_probes.conf"
    found = dict(re.findall(r'(\w+) = "([^"]*)"', path.read_text()))
    assert (found["name"], found["switch"]) == ("stackprobe", "on")
    other = work / "other.conf"
    other.write_text(f'global = {{ probes_init = ""; state_dir = "{work}/state"; restore = false; }};\n' + path.read_text())
    assert "unknown key extend_probes" in starts(other, work)
    done = subprocess.run(f"{BIN} {found['param']} --version", shell=True, check=False)
    assert done.returncode == 0 and Path(found["command"]) == Path("/usr/bin/stackprobe")

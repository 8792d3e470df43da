"""Four services from PyPI, each in an environment of its own, on loopback."""

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HUB_TOKEN = "live-tests-of-a-hub-0123456789"
START_SECONDS = 300
HUB_CONFIG = '''
from jupyterhub.proxy import Proxy
from jupyterhub.spawner import Spawner

c = get_config()


class MemoryProxy(Proxy):
    """Routes in memory, so that no program but the hub runs."""

    should_start = False
    routes = {}

    async def add_route(self, routespec, target, data):
        self.routes[routespec] = {"routespec": routespec, "target": target, "data": data}

    async def delete_route(self, routespec):
        self.routes.pop(routespec, None)

    async def get_all_routes(self):
        return dict(self.routes)

    async def check_routes(self, *args, **kwargs):
        pass


class NoSpawner(Spawner):
    """Starts nothing."""

    async def start(self):
        return "http://127.0.0.1:1"

    async def stop(self, now=False):
        pass

    async def poll(self):
        return 0


SCOPES = [
    "admin:users", "admin:servers", "admin:groups", "admin:services", "tokens", "proxy", "read:hub",
    "list:users", "list:groups", "list:services", "shares", "access:servers",
]
c.JupyterHub.proxy_class = MemoryProxy
c.JupyterHub.spawner_class = NoSpawner
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.hub_ip = "127.0.0.1"
c.JupyterHub.hub_port = PORT
c.JupyterHub.bind_url = "http://127.0.0.1:OTHER"
c.JupyterHub.services = [{"name": "mcp", "api_token": "TOKEN", "admin": True}]
c.JupyterHub.load_roles = [{"name": "mcp", "scopes": SCOPES, "services": ["mcp"]}]
'''


class UnavailableError(Exception):
    """A service cannot be installed or started here; the text is one line."""


@dataclass
class Service:
    """A running service.

    Attributes:
        name: Its name on PyPI.
        address: Where it answers, without a path.
        base: The path of its API behind the address.
        document: The file with its OpenAPI document.
        settings: Settings of the server by their names, as API_AUTH.
    """

    name: str
    address: str
    base: str
    document: Path
    settings: dict[str, str] = field(default_factory=dict)
    process: "subprocess.Popen[bytes] | None" = None

    def headers(self) -> dict[str, str]:
        """Return the headers that carry the token."""
        token = self.settings.get("API_TOKEN", "")
        scheme = self.settings.get("API_AUTH", "")
        if scheme == "basic":
            encoded = base64.b64encode(token.encode()).decode()
            return {"Authorization": f"Basic {encoded}"}
        name = scheme.removeprefix("header:")
        if name:
            return {name: token}
        return {"Authorization": f"Bearer {token}"} if token else {}

    def stop(self) -> None:
        """End the service and what it started."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(20)


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def install(folder: Path, *requirements: str) -> Path:
    """Install packages into an environment of their own, and return its folder of programs.

    Args:
        folder: Where the environment is kept; an existing one is used again.
        requirements: The packages.

    Raises:
        UnavailableError: uv cannot install them.
    """
    done = folder / "installed"
    if not done.exists():
        uv = shutil.which("uv") or ""
        if not uv:
            raise UnavailableError("uv is not on PATH")
        python = str(folder / "bin" / "python")
        for command in (
            [uv, "venv", "--quiet", "--clear", str(folder)],
            [uv, "pip", "install", "--quiet", "--python", python, *requirements],
        ):
            ran = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=900
            )
            if ran.returncode:
                lines = ran.stderr.strip().splitlines() or ["no message"]
                raise UnavailableError(
                    f"{requirements[0]} cannot be installed: {lines[-1][:200]}"
                )
        done.touch()
    return folder / "bin"


def launch(
    name: str, command: list[str], folder: Path, ready: str, **environment: str
) -> "subprocess.Popen[bytes]":
    """Start a service and wait until an address answers.

    Raises:
        UnavailableError: It ends, or does not answer in time.
    """
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=log,
            stderr=log,
            env={**os.environ, "DO_NOT_TRACK": "1", **environment},
            start_new_session=True,
        )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            lines = (
                (folder / f"{name}.log")
                .read_text(errors="replace")
                .strip()
                .splitlines()
            )
            raise UnavailableError(f"{name} ended at once: {(lines or [''])[-1][:200]}")
        try:
            with urllib.request.urlopen(ready, timeout=2):
                return process
        except urllib.error.HTTPError:
            return process
        except OSError:
            time.sleep(0.3)
    os.killpg(process.pid, signal.SIGKILL)
    raise UnavailableError(f"{name} did not answer in {START_SECONDS} s")


def fetch_json(address: str) -> Any:
    """Return the JSON at an address."""
    with urllib.request.urlopen(address, timeout=30) as response:
        return json.load(response)


def start_changedetection(environments: Path, folder: Path) -> Service:
    """Start changedetection.io, whose document and token are in its files."""
    programs = install(environments / "changedetection", "changedetection.io")
    port = free_port()
    address, data = f"http://127.0.0.1:{port}", folder / "data"
    command = [str(programs / "changedetection.io"), "-d", str(data), "-h", "127.0.0.1"]
    process = launch(
        "changedetection.io",
        [*command, "-p", str(port), "-C"],
        folder,
        f"{address}/api/v1/systeminfo",
        ALLOW_IANA_RESTRICTED_ADDRESSES="true",
        FETCH_WORKERS="1",
    )
    settings = json.loads((data / "changedetection.json").read_text())["settings"]
    token = settings["application"]["api_access_token"]
    (document,) = programs.parent.rglob("changedetectionio/docs/api-spec.yaml")
    secrets = {"API_AUTH": "header:x-api-key", "API_TOKEN": token}
    service = Service(
        "changedetection.io", address, "/api/v1", document, secrets, process
    )
    remove_examples(service)
    return service


def remove_examples(service: Service) -> None:
    """Remove the pages that a new changedetection.io watches: they are on the Internet, and checked all the time."""
    url = f"{service.address}{service.base}/watch"
    headers = service.headers()
    with urllib.request.urlopen(
        urllib.request.Request(url, headers=headers), timeout=30
    ) as result:
        watches = json.load(result)
    for uuid in watches:
        request = urllib.request.Request(
            f"{url}/{uuid}", headers=headers, method="DELETE"
        )
        with urllib.request.urlopen(request, timeout=30):
            pass


def start_jupyterhub(environments: Path, folder: Path) -> Service:
    """Start JupyterHub with nothing to spawn; its document is in the source distribution."""
    programs = install(environments / "jupyterhub", "jupyterhub", "pip")
    document = environments / "jupyterhub" / "rest-api.yml"
    if not document.exists():
        _extract_hub_document(programs, document)
    port = free_port()
    config = HUB_CONFIG.replace("PORT", str(port)).replace("OTHER", str(free_port()))
    (folder / "jupyterhub_config.py").write_text(config.replace("TOKEN", HUB_TOKEN))
    address = f"http://127.0.0.1:{port}"
    process = launch(
        "jupyterhub",
        [str(programs / "jupyterhub"), "-f", "jupyterhub_config.py"],
        folder,
        f"{address}/hub/api",
        PATH=f"{programs}{os.pathsep}{os.environ['PATH']}",
    )
    return Service(
        "jupyterhub", address, "/hub/api", document, {"API_TOKEN": HUB_TOKEN}, process
    )


def _extract_hub_document(programs: Path, document: Path) -> None:
    """Write the OpenAPI document of the installed version of JupyterHub."""
    import tarfile

    python = str(programs / "python")
    show = [
        python,
        "-c",
        "import importlib.metadata as m; print(m.version('jupyterhub'))",
    ]
    version = subprocess.run(
        show, capture_output=True, text=True, check=True
    ).stdout.strip()
    folder = document.parent / "source"
    options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
    download = [python, "-m", "pip", "download", *options, f"jupyterhub=={version}"]
    ran = subprocess.run(
        download, capture_output=True, text=True, check=False, timeout=600
    )
    archives = sorted(folder.glob("jupyterhub-*.tar.gz"))
    if ran.returncode or not archives:
        raise UnavailableError(
            "the source of jupyterhub, with its document, cannot be downloaded"
        )
    with tarfile.open(archives[-1]) as archive:
        name = next(n for n in archive.getnames() if n.endswith("_static/rest-api.yml"))
        file = archive.extractfile(name)
        assert file is not None
        document.write_bytes(file.read())


def start_chroma(environments: Path, folder: Path) -> Service:
    """Start Chroma."""
    programs = install(environments / "chroma", "chromadb")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [str(programs / "chroma"), "run", "--path", "data", "--host", "127.0.0.1"]
    ready = f"{address}/api/v2/heartbeat"
    process = launch("chroma", [*command, "--port", str(port)], folder, ready)
    document = folder / "chroma.json"
    document.write_text(json.dumps(fetch_json(f"{address}/openapi.json")))
    return Service("chroma", address, "", document, {}, process)


def start_prefect(environments: Path, folder: Path) -> Service:
    """Start a Prefect server."""
    # A later FastAPI refuses an argument that this server passes.
    programs = install(environments / "prefect", "prefect", "fastapi==0.139.*")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [str(programs / "prefect"), "server", "start", "--host", "127.0.0.1"]
    process = launch(
        "prefect",
        [*command, "--port", str(port), "--no-services"],
        folder,
        f"{address}/api/health",
        PREFECT_HOME=str(folder / "home"),
        PREFECT_SERVER_ANALYTICS_ENABLED="false",
    )
    document = folder / "prefect.json"
    document.write_text(json.dumps(fetch_json(f"{address}/openapi.json")))
    return Service("prefect", address, "/api", document, {}, process)


STARTS: dict[str, Callable[[Path, Path], Service]] = {
    "changedetection.io": start_changedetection,
    "jupyterhub": start_jupyterhub,
    "chroma": start_chroma,
    "prefect": start_prefect,
}


KINTO_CONFIG = """
[app:main]
use = egg:kinto
kinto.userid_hmac_secret = of-live-tests-0123456789
kinto.storage_backend = kinto.core.storage.memory
kinto.cache_backend = kinto.core.cache.memory
kinto.permission_backend = kinto.core.permission.memory
multiauth.policies = basicauth
multiauth.policy.basicauth.use = kinto.core.authentication.BasicAuthAuthenticationPolicy
kinto.bucket_create_principals = system.Authenticated
kinto.bucket_read_principals = system.Authenticated

[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = PORT
"""


def start_jupyter_server(environments: Path, folder: Path) -> Service:
    """Start a Jupyter Server without kernels; its document, in Swagger 2.0, is in its package."""
    programs = install(environments / "jupyter-server", "jupyter-server")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    (folder / "files").mkdir()
    command = [str(programs / "jupyter-server"), "--no-browser", "--allow-root"]
    options = [f"--port={port}", f"--IdentityProvider.token={HUB_TOKEN}"]
    process = launch(
        "jupyter-server",
        [*command, *options, f"--ServerApp.root_dir={folder / 'files'}"],
        folder,
        f"{address}/api",
    )
    (document,) = programs.parent.rglob("jupyter_server/services/api/api.yaml")
    settings = {"API_TOKEN": HUB_TOKEN}
    return Service("jupyter-server", address, "", document, settings, process)


def start_kinto(environments: Path, folder: Path) -> Service:
    """Start Kinto with its records in memory."""
    programs = install(environments / "kinto", "kinto", "setuptools<81")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    (folder / "kinto.ini").write_text(KINTO_CONFIG.replace("PORT", str(port)))
    command = [str(programs / "kinto"), "start", "--ini", "kinto.ini"]
    process = launch("kinto", [*command, "--port", str(port)], folder, f"{address}/v1/")
    document = folder / "kinto-api.json"
    document.write_text(json.dumps(fetch_json(f"{address}/v1/__api__")))
    settings = {"API_AUTH": "basic", "API_TOKEN": "ann:secret-of-ann"}
    return Service("kinto", address, "/v1", document, settings, process)


LABEL_STUDIO_TOKEN = "0123456789abcdef0123456789abcdef01234567"


def start_label_studio(environments: Path, folder: Path) -> Service:
    """Start Label Studio with SQLite; it sends nothing anywhere."""
    programs = install(environments / "label-studio", "label-studio")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [str(programs / "label-studio"), "start", "--no-browser"]
    options = ["--internal-host", "127.0.0.1", "--port", str(port)]
    user = ["--username", "ann@example.com", "--password", HUB_TOKEN]
    token = ["--enable-legacy-api-token", "--user-token", LABEL_STUDIO_TOKEN]
    process = launch(
        "label-studio",
        [*command, *options, "--data-dir", str(folder / "data"), *user, *token],
        folder,
        f"{address}/api/version",
        LABEL_STUDIO_BASE_DATA_DIR=str(folder / "data"),
        LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN="true",
        COLLECT_ANALYTICS="false",
        LATEST_VERSION_CHECK="false",
        SENTRY_DSN="",
        FRONTEND_SENTRY_DSN="",
    )
    document = folder / "label-studio.json"
    schema = fetch_json(f"{address}/docs/api/schema/json/")
    document.write_text(json.dumps(schema))
    secrets = {
        "API_AUTH": "header:Authorization",
        "API_TOKEN": f"Token {LABEL_STUDIO_TOKEN}",
    }
    return Service("label-studio", address, "", document, secrets, process)


def start_phoenix(environments: Path, folder: Path) -> Service:
    """Start Phoenix with SQLite, without telemetry."""
    programs = install(environments / "phoenix", "arize-phoenix")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    process = launch(
        "phoenix",
        [str(programs / "phoenix"), "serve"],
        folder,
        f"{address}/openapi.json",
        PHOENIX_WORKING_DIR=str(folder / "work"),
        PHOENIX_HOST="127.0.0.1",
        PHOENIX_PORT=str(port),
        PHOENIX_GRPC_PORT=str(free_port()),
        PHOENIX_TELEMETRY_ENABLED="false",
        PHOENIX_ALLOW_EXTERNAL_RESOURCES="false",
    )
    document = folder / "phoenix.json"
    document.write_text(json.dumps(fetch_json(f"{address}/openapi.json")))
    return Service("phoenix", address, "", document, {}, process)


# Run once, with expectations that were written before.
FRESH_STARTS: dict[str, Callable[[Path, Path], Service]] = {
    "jupyter-server": start_jupyter_server,
    "kinto": start_kinto,
    "label-studio": start_label_studio,
    "phoenix": start_phoenix,
}

"""A Kubernetes API server over HTTP: objects by path, not found, conflicts by resourceVersion, RBAC."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

STORAGE = "/apis/storage.k8s.io"
CLASSES = "volumeattributesclasses"


@dataclass
class Cluster:
    """What the cluster has, and what was asked of it."""

    objects: dict[str, Any] = field(default_factory=dict)
    versions: tuple[str, ...] = ("v1",)
    denied: frozenset[str] = frozenset()
    """HTTP methods that the caller may not use. kubectl sends no credentials over plain HTTP."""
    calls: list[str] = field(default_factory=list)
    url: str = ""

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Status and object of one request."""
        if path.startswith("/version"):
            return 200, {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
        self.calls.append(f"{method} {path}")
        if method in self.denied:
            return _status(403, "Forbidden", "the user may not do that")
        for version in self.versions:
            if path == f"{STORAGE}/{version}":
                names = [{"name": "storageclasses"}, {"name": CLASSES}]
                return 200, {"kind": "APIResourceList", "resources": names}
        if method == "POST":
            self.objects[f"{path}/{body['metadata']['name']}"] = body
            return 201, body
        if path not in self.objects:
            return _status(404, "NotFound", f"{path} not found")
        if method == "PUT":
            held = self.objects[path]["metadata"]["resourceVersion"]
            if body["metadata"]["resourceVersion"] != held:
                return _status(409, "Conflict", "the object has been modified")
            self.objects[path] = {
                **body,
                "metadata": {**body["metadata"], "resourceVersion": "next"},
            }
        return 200, self.objects[path]


def _status(code: int, reason: str, message: str) -> tuple[int, Any]:
    return code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
                  "code": code, "message": message}  # fmt: skip


@contextmanager
def serving(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster behind an address of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or self._chunks()
            code, value = cluster.answer(
                self.command, self.path, json.loads(body) if body else None
            )  # fmt: skip
            data = json.dumps(value).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _chunks(self) -> bytes:
            found = b""
            while self.headers.get("Transfer-Encoding") == "chunked":
                size = int(self.rfile.readline(), 16)
                found += self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    break
            return found

        do_GET = do_POST = do_PUT = _any

        def log_message(self, *_: object) -> None:
            """Nothing on the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    cluster.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield cluster
    finally:
        server.shutdown()
        server.server_close()


def kubeconfig(folder: Path, cluster: Cluster) -> str:
    """A kubeconfig for it, whose context is `there`."""
    path = folder / "kubeconfig"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": cluster.url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "there", "context": {"cluster": "c", "user": "u"}}],
    }))  # fmt: skip
    return str(path)

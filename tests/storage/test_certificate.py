"""A server whose certificate nobody vouches for gets no request: the SDK alone would not look."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.requests import Bucket
from ascend_workbook.storage.retrying import Patience
from tests.storage.conftest import KEY, SECRET

SHORT = Patience(attempts=2, pause_s=0.01, timeout_s=3.0)


def certificate(folder: Path) -> tuple[Path, Path]:
    """(certificate, key) that vouch for 127.0.0.1 themselves."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(timezone.utc)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    form, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    for path, data in (("cert", made.public_bytes(encoding)), ("key", key.private_bytes(encoding, form, none))):
        (folder / path).write_bytes(data)
    return folder / "cert", folder / "key"


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[tuple[str, Path, list[bytes]]]:
    """(address, certificate, what was said to it once a connection stood)."""
    pytest.importorskip("obs", reason="obs is not installed: pip install -r requirements-dev.txt")
    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    heard: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = listening.accept()
            except OSError:  # closed
                return
            try:
                with context.wrap_socket(plain, server_side=True) as connection:
                    heard.append(connection.recv(1 << 16))
                    connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except OSError:  # refused by the other side
                plain.close()

    threading.Thread(target=serve, daemon=True).start()
    yield f"https://127.0.0.1:{listening.getsockname()[1]}", cert, heard
    listening.close()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("OBS_SECRET_ACCESS_KEY", SECRET)


def test_nothing_is_said_to_a_stranger(secure: tuple[str, Path, list[bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    address, _, heard = secure
    monkeypatch.setenv("OBS_SERVER", address)
    with pytest.raises(WorkbookError, match="is not trusted") as caught:
        Bucket("bucket", SHORT).head_object("x")
    assert not heard and "SSL_CERT_FILE" in caught.value.hint("en")


def test_whom_the_user_vouches_for_is_asked(
    secure: tuple[str, Path, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, cert, heard = secure
    monkeypatch.setenv("OBS_SERVER", address)
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    with pytest.raises(FileNotFoundError):
        Bucket("bucket", SHORT).head_object("x")
    assert heard and b"HEAD /bucket/x" in heard[0] and SECRET.encode() not in heard[0]

"""Certificates good and bad, for servers of tests: an authority that is trusted only where its file is given.

Needs the package cryptography; SHA-1, which that refuses to sign with, the openssl command.
"""

from __future__ import annotations

import ipaddress
import ssl
import subprocess
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOSTS = ("localhost", "127.0.0.1", "::1")


class Authority:
    """Signs certificates into `folder`. `file`: its own, in PEM form."""

    def __init__(self, folder: Path, name: str = "Authority of tests") -> None:
        self._folder, self._name, self._count = folder, name, 0
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._sign(name, name, self._key.public_key(), (), (-1.0, 30.0), authority=True)
        self.file = folder / f"{name.replace(' ', '-')}.pem"
        self.file.write_bytes(_pem(self.certificate))

    def issue(
        self,
        hosts: Sequence[str] = HOSTS,
        days: tuple[float, float] = (-1.0, 30.0),
        *,
        self_signed: bool = False,
        with_authority: bool = False,
    ) -> Path:
        """A certificate for `hosts` (names and addresses) and its key in one PEM file. `days`: from and to, counted from now;
        `with_authority`: the file holds the whole chain."""
        key = ec.generate_private_key(ec.SECP256R1())
        found = self._sign(
            hosts[0],
            hosts[0] if self_signed else self._name,
            key.public_key(),
            hosts,
            days,
            key if self_signed else None,
        )
        chain = _pem(found) + (_pem(self.certificate) if with_authority else b"")
        return self._file(chain, key)

    def issue_sha1(self, hosts: Sequence[str] = HOSTS) -> Path:
        """The same, signed with SHA-1. Raises OSError or CalledProcessError where there is no openssl that does so."""
        authority, path = self._file(_pem(self.certificate), self._key), self._next_path()
        names = ",".join(("IP:" if _is_address(host) else "DNS:") + host for host in hosts)
        command = [
            "openssl",
            "req",
            "-x509",
            "-sha1",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
        ]
        command += [
            "-days",
            "2",
            "-subj",
            f"/CN={hosts[0]}",
            "-addext",
            f"subjectAltName={names}",
            "-CA",
            str(authority),
        ]
        command += ["-CAkey", str(authority), "-keyout", f"{path}.key", "-out", str(path)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        path.write_bytes(path.read_bytes() + Path(f"{path}.key").read_bytes())
        return path

    def _sign(
        self,
        subject: str,
        issuer: str,
        key: ec.EllipticCurvePublicKey,
        hosts: Sequence[str],
        days: tuple[float, float],
        signer: ec.EllipticCurvePrivateKey | None = None,
        *,
        authority: bool = False,
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        names = [x509.IPAddress(ipaddress.ip_address(h)) if _is_address(h) else x509.DNSName(h) for h in hosts]
        draft = (
            x509.CertificateBuilder()
            .subject_name(_name(subject))
            .issuer_name(_name(issuer))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + timedelta(days=days[0]))
            .not_valid_after(now + timedelta(days=days[1]))
            .add_extension(x509.BasicConstraints(authority, None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )
        if names:
            draft = draft.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return draft.sign(signer or self._key, hashes.SHA256())

    def _file(self, chain: bytes, key: ec.EllipticCurvePrivateKey) -> Path:
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        path = self._next_path()
        path.write_bytes(chain + key.private_bytes(*form))
        return path

    def _next_path(self) -> Path:
        self._count += 1
        return self._folder / f"{self.file.stem}-{self._count}.pem"


def server_side(
    pem: Path, *, alpn: Sequence[str] = (), newest: ssl.TLSVersion | None = None, legacy: bool = False
) -> ssl.SSLContext:
    """A server's side of TLS with the certificate and key of a PEM file. `newest`: no later version; `legacy`: old versions
    and weak signatures, too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        if legacy or newest is not None:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
        if newest is not None:
            context.maximum_version = newest
    context.load_cert_chain(pem)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)

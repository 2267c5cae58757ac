"""A member's key and certificate for TLS with other members.

They are made when the process starts, and the key never leaves it.  The certificate is in the
member's record in etcd, under its lease; it is valid exactly as long as that record.  So nothing
has to be set up, renewed or revoked, and clocks do not matter.

The record has the certificate and not only its fingerprint, because Python's `ssl` cannot ask a
client for a certificate that it does not know beforehand.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import ssl
from collections.abc import Iterable
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_BEGIN, _END = datetime(2000, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


class Identity:
    """Key and self-signed certificate of one process of a member.  certificate: DER."""

    def __init__(self, member: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, member)])
        constraints = x509.BasicConstraints(ca=False, path_length=None)
        certificate = (
            x509.CertificateBuilder(
                issuer_name=name, subject_name=name, public_key=key.public_key()
            )
            .serial_number(x509.random_serial_number())
            .not_valid_before(_BEGIN)
            .not_valid_after(_END)
            .add_extension(constraints, critical=True)
            .sign(key, SHA256())
        )
        self.certificate = certificate.public_bytes(Encoding.DER)
        self._pem = certificate.public_bytes(Encoding.PEM) + key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )

    def server(self, trusted: Iterable[bytes]) -> ssl.SSLContext:
        """TLS context of a listener; accepts only clients with one of these certificates (DER)."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.num_tickets = 0  # no session outlasts the check of its certificate
        return self._complete(context, trusted)

    def client(self, trusted: bytes) -> ssl.SSLContext:
        """TLS context of connections to the member with this certificate (DER)."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # the certificate itself is known
        return self._complete(context, [trusted])

    def _complete(self, context: ssl.SSLContext, trusted: Iterable[bytes]) -> ssl.SSLContext:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        file = os.memfd_create("identity")  # `ssl` reads keys from files only; this one is memory
        try:
            os.write(file, self._pem)
            context.load_cert_chain(f"/proc/self/fd/{file}")
        finally:
            os.close(file)
        for certificate in trusted:
            with contextlib.suppress(ssl.SSLError, ValueError):  # a record may have anything
                context.load_verify_locations(cadata=certificate)
        return context


def fingerprint(certificate: bytes) -> str:
    """SHA-256 of a certificate in DER, in hexadecimal."""
    return hashlib.sha256(certificate).hexdigest()

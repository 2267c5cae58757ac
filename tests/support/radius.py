"""FreeRADIUS with a separate configuration, and wpa_supplicant on a host's wire.

The server runs in the namespace of a switch, beside the controller, or in its own.
"""

from __future__ import annotations

import datetime
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.support.firsthop.daemon import Daemon
from tests.support.lab import Host, sh
from tests.support.waiting import wait_for

SECRET = "c0rrect-horse"
PASSWORD = "wonderland"

_RADIUSD = """
prefix = /usr
libdir = /usr/lib/freeradius
raddbdir = {dir}
run_dir = {dir}
logdir = {dir}
pidfile = {dir}/radiusd.pid
max_request_time = 10
cleanup_delay = 1
security {{
    reject_delay = 0
}}
log {{
    destination = stdout
    auth = yes
}}
thread pool {{
    start_servers = 2
    max_servers = 4
    min_spare_servers = 1
    max_spare_servers = 2
}}
client controller {{
    ipaddr = {clients}
    secret = {secret}
    require_message_authenticator = yes
}}
modules {{
    pap {{
    }}
    mschap {{
    }}
    files {{
        filename = {dir}/users
    }}
    detail {{
        filename = {dir}/detail
    }}
    eap {{
        default_eap_type = md5
        md5 {{
        }}
        mschapv2 {{
        }}
        tls-config common {{
            private_key_file = {dir}/server.key
            certificate_file = {dir}/server.pem
            ca_file = {dir}/ca.pem
            cipher_list = "DEFAULT@SECLEVEL=1"
            tls_min_version = "1.2"
            tls_max_version = "1.2"
            fragment_size = 1000
            ecdh_curve = ""
        }}
        tls {{
            tls = common
        }}
        ttls {{
            tls = common
            default_eap_type = md5
            virtual_server = inner
        }}
        peap {{
            tls = common
            default_eap_type = mschapv2
            virtual_server = inner
        }}
    }}
}}
server outer {{
    listen {{
        type = auth
        ipaddr = {address}
        port = 1812
    }}
    listen {{
        type = acct
        ipaddr = {address}
        port = 1813
    }}
    accounting {{
        detail
    }}
    authorize {{
        eap {{
            ok = return
        }}
        files
        pap
    }}
    authenticate {{
        Auth-Type PAP {{
            pap
        }}
        eap
    }}
    post-auth {{
        update reply {{
            Message-Authenticator = 0x00
        }}
        Post-Auth-Type REJECT {{
            update reply {{
                Message-Authenticator = 0x00
            }}
        }}
    }}
}}
server inner {{
    authorize {{
        mschap
        eap {{
            ok = return
        }}
        files
        pap
    }}
    authenticate {{
        Auth-Type PAP {{
            pap
        }}
        Auth-Type MS-CHAP {{
            mschap
        }}
        eap
    }}
}}
"""


class Radius:
    """A server; `users` is the text of its file of users, which `set_users` replaces.

    address: where it listens; clients: addresses of the controllers that may ask it.
    """

    def __init__(
        self,
        namespace: str,
        folder: Path,
        users: str,
        address: str = "127.0.0.1",
        clients: str = "127.0.0.1",
    ) -> None:
        self.namespace = namespace
        self.folder = folder
        self.address = address
        self._process: subprocess.Popen[bytes] | None = None
        self._users = users
        make_certificates(folder)
        text = _RADIUSD.format(dir=folder, secret=SECRET, address=address, clients=clients)
        (folder / "radiusd.conf").write_text(text)
        self.secret_file = folder / "secret"
        self.secret_file.write_text(f"{SECRET}\n")

    def start(self) -> None:
        """Start it, and wait until it listens."""
        (self.folder / "users").write_text(self._users)
        with open(self.folder / "out", "ab") as out:
            self._process = subprocess.Popen(
                [
                    *("ip", "netns", "exec", self.namespace, "setpriv", "--pdeathsig", "KILL"),
                    *("freeradius", "-f", "-l", "stdout", "-d", str(self.folder)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        wait_for(self._listens, "freeradius to listen", seconds=30)

    def stop(self) -> None:
        """End it: it answers no request any more."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def set_users(self, users: str) -> None:
        """Restart it with other users."""
        self.stop()
        self._users = users
        self.start()

    def log(self) -> str:
        """What it has said."""
        return (self.folder / "out").read_text()

    def accounted(self) -> str:
        """The reports that it has taken, as text."""
        file = self.folder / "detail"
        return file.read_text() if file.exists() else ""

    def demand(self, kind: str, *attributes: str, to: str = "127.0.0.1") -> str:
        """Send a Disconnect-Request ("disconnect") or CoA-Request ("coa"); what radclient says.

        to: address of the controller.
        """
        lines = ", ".join((f"Event-Timestamp = {int(time.time())}", *attributes))
        done = subprocess.run(
            [
                *("ip", "netns", "exec", self.namespace),
                *("radclient", "-x", f"{to}:3799", kind, SECRET),
            ],
            input=lines,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return done.stdout + done.stderr

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()[-2000:]
        inside = ("ip", "netns", "exec", self.namespace)
        return f"{self.address}:1812 " in sh(*inside, "ss", "-Hnul")


def make_certificates(folder: Path) -> None:
    """A CA, the server's certificate and a user's, in files of that folder."""
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _certificate("Test CA", ca_key, "Test CA", ca_key, None)
    (folder / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    for name, usage in (
        ("server", ExtendedKeyUsageOID.SERVER_AUTH),
        ("user", ExtendedKeyUsageOID.CLIENT_AUTH),
    ):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(name, key, "Test CA", ca_key, usage)
        (folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        (folder / f"{name}.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    signer: ec.EllipticCurvePrivateKey,
    usage: x509.ObjectIdentifier | None,
) -> x509.Certificate:
    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(usage is None, None), critical=True)
    )
    if usage is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return builder.sign(signer, hashes.SHA256())


class Supplicant:
    """wpa_supplicant on a host's eth0.  network: its settings of the network, by name."""

    def __init__(self, host: Host, folder: Path, network: Mapping[str, str]) -> None:
        self._host = host
        self._control = folder / f"wpa{host.number}"
        lines = "\n".join(f"    {key}={value}" for key, value in network.items())
        file = folder / f"wpa{host.number}.conf"
        file.write_text(
            f"ctrl_interface={self._control}\nap_scan=0\neapol_version=2\n"
            f"network={{\n    key_mgmt=IEEE8021X\n    eapol_flags=0\n{lines}\n}}\n"
        )
        self._daemon = Daemon(host, "wpa_supplicant", "-D", "wired", "-i", "eth0", "-c", str(file))

    def state(self) -> dict[str, str]:
        """Its state: `suppPortStatus`, `EAP state` and others."""
        words = ("wpa_cli", "-p", self._control, "-i", "eth0", "status")
        output = self._host.run(*words, check=False)
        return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)

    def wait(self, seconds: float = 30) -> None:
        """Wait until it is authorised."""
        wait_for(
            lambda: self.state().get("suppPortStatus") == "Authorized",
            "the supplicant to be authorised",
            seconds=seconds,
        )

    def wait_logged(self, text: str, seconds: float) -> None:
        """Wait until that is in its log."""
        self._daemon.wait_logged(text, seconds)

    def command(self, *words: str) -> None:
        """A command of wpa_cli."""
        self._host.run("wpa_cli", "-p", self._control, "-i", "eth0", *words)

    def close(self) -> None:
        """End it."""
        self._daemon.close()

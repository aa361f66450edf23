"""Whether this server and whoever calls it can make sense of each other."""

from collections.abc import Mapping

from whilly import __version__
from whilly.server.errors import Denied
from whilly.wire.protocol import HEADER, VERSION, oldest_served


def check_protocol(headers: Mapping[str, str], version: int = VERSION) -> None:
    """Raise Denied for a protocol that is too old, or newer than this server's. A caller that names none is served."""
    spoken = headers.get(HEADER)
    if spoken is None or spoken == str(version):
        return
    oldest = oldest_served(version)
    if not (spoken.isascii() and spoken.isdigit() and len(spoken) < 10):
        raise Denied(400, "bad_protocol", f"{HEADER} must be a whole number, such as {version}.")
    here = f"this server (whilly {__version__}) speaks {f'{oldest} to {version}' if oldest < version else version}"
    if int(spoken) < oldest:
        raise Denied(
            400,
            "protocol_too_old",
            f"This caller speaks protocol {int(spoken)}, and {here}: it is more than two releases older.",
            f"Install whilly {__version__} on the caller's machine; results that wait there are sent afterwards.",
        )
    if int(spoken) > version:
        raise Denied(
            400,
            "protocol_too_new",
            f"This caller speaks protocol {int(spoken)}, and {here}: the server is the older one.",
            f"Upgrade the server first (`whilly db upgrade` belongs to it), or install whilly {__version__} "
            "on the caller's machine.",
        )

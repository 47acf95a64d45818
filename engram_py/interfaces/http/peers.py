"""Tell whether the other end of a local connection belongs to the user of this process."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import Any

_CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = 1
# In the state of a request: asks whether the kernel says that this user opened its connection.
OF_THIS_USER = "of_this_user"


def is_of_this_user(ours: socket.socket) -> bool:
    """Return whether the kernel says that this user opened the other end of a connection; False where it says nothing.

    The line of a socket whose process closed it names no inode and the user 0: it is nobody's, least of all root's.
    """
    try:
        wanted = (_packed(ours.getpeername()), _packed(ours.getsockname()))
        lines = [line.split() for path in _CONNECTIONS if path.exists() for line in path.read_text().splitlines()[1:]]
        alive = [line for line in lines if int(line[3], 16) == _ESTABLISHED and int(line[9])]
        users = {int(line[7]) for line in alive if _ends(line) == wanted}
        # While ours stands, no other connection can have its two addresses.
        stands = ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED
    except (OSError, ValueError, IndexError, AttributeError):  # another system, or a connection that is gone
        return False
    return stands and users == {os.geteuid()}


def _packed(address: Any) -> tuple[ipaddress.IPv6Address, int]:
    """Return an address and a port, of IPv4 as IPv6 maps it. Raises ValueError for a unix socket's."""
    if not isinstance(address, tuple):
        raise ValueError("no address of TCP")
    return _mapped(ipaddress.ip_address(address[0].partition("%")[0]).packed), address[1]


def _ends(line: list[str]) -> tuple[tuple[ipaddress.IPv6Address, int], ...]:
    """Return where a connection of the kernel's table comes from and goes to."""
    ends = (one.partition(":") for one in line[1:3])
    return tuple((_mapped(_in_network_order(host)), int(port, 16)) for host, _, port in ends)


def _in_network_order(words: str) -> bytes:
    """Return the bytes of an address that is printed as words of this machine."""
    number = bytes.fromhex(words)
    parts = (number[at : at + 4] for at in range(0, len(number), 4))
    return b"".join(int.from_bytes(part, sys.byteorder).to_bytes(4, "big") for part in parts)


def _mapped(packed: bytes) -> ipaddress.IPv6Address:
    return ipaddress.IPv6Address(packed if len(packed) == 16 else bytes(10) + b"\xff\xff" + packed)

"""Runs a server in its own network and prints the kernel's packet counters as JSON.

It is started in a new network namespace with only a loopback device, which is down. The kernel counts every attempt to
reach another machine as unroutable, so no traffic has to be captured.

usage: alone.py BINARY FOLDER
"""

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request

SIOCSIFFLAGS, IFF_UP = 0x8914, 1

binary, folder = sys.argv[1:]
connections = 0


def counted():
    """Returns the kernel's counters of this namespace that outgoing traffic would increment."""
    numbers = {}
    with open("/proc/net/snmp") as file:
        lines = file.read().splitlines()
    for names, values in zip(lines[::2], lines[1::2]):
        table = names.split(":")[0]
        for name, value in zip(names.split()[1:], values.split()[1:]):
            numbers[table + name] = int(value)
    with open("/proc/net/snmp6") as file:
        for line in file:
            name, value = line.split()
            numbers[name] = int(value)
    return {
        "connections": numbers["TcpActiveOpens"] - connections,
        "datagrams": numbers["UdpOutDatagrams"] + numbers["Udp6OutDatagrams"],
        "unroutable": numbers["IpOutNoRoutes"] + numbers["Ip6OutNoRoutes"],
    }


def ask(method, path, body=None, headers=()):
    """Sends one request on its own connection."""
    global connections
    connections += 1
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data=data, method=method)
    if data is not None:
        request.add_header("Content-Type", "application/json")
    for name, value in headers:
        request.add_header(name, value)
    try:
        return opener.open(request, timeout=50)
    except urllib.error.HTTPError as error:
        return error


with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
# The machine's proxy must not be used.
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
environment = {
    "PATH": os.environ["PATH"],
    "HOME": folder,
    "SANDBOX_AGENT_CONFIG": "/dev/null",
}
server = subprocess.Popen(
    [binary, "server", "--port", "0"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
)
try:
    address = server.stdout.readline().decode().strip().rsplit(" ", 1)[1]
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    statuses = [ask("POST", "/v1/acp/a?agent=mock", call).status]
    call = {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": folder, "mcpServers": []}}
    session = json.load(ask("POST", "/v1/acp/a", call))["result"]["sessionId"]
    prompt = [{"type": "text", "text": "hello"}]
    call = {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": {"sessionId": session, "prompt": prompt}}
    statuses.append(ask("POST", "/v1/acp/a", call).status)
    stream = ask("GET", "/v1/acp/a", headers=[("Accept", "text/event-stream")])
    statuses.append(stream.status)
    stream.readline()
    stream.close()
    statuses.append(ask("PUT", "/v1/fs/file?path=a.txt", b"content").status)
    for path in ["/", "/healthz", "/v1/health", "/v1/acp", "/v1/fs/file?path=a.txt", "/metrics", "/ui/", "/v1/openapi.json"]:
        statuses.append(ask("GET", path).status)
    statuses.append(ask("DELETE", "/v1/acp/a").status)
    used = counted()
    # The control: asking for an unknown agent makes the server query the registry, which must be counted.
    ask("GET", "/v1/agents/unknown-agent")
    asked = counted()
finally:
    server.terminate()
    server.wait()
print(json.dumps({"statuses": statuses, "used": used, "asked": asked, "ended": counted()}))

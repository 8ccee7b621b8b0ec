#!/bin/sh
# Runs on the machine that try.sh boots. Checks the service from outside. As `probe.sh agent` it is an agent of the service,
# and checks what the service allows.
set -u

if [ "${1:-}" = agent ]; then
    # Answers the first message with a list of what an agent can and cannot do.
    read -r _
    can() { if sh -c "$2" </dev/null >/dev/null 2>&1; then echo "$1"; else echo "not-$1"; fi; }
    report=$(
        can write-workspace 'echo x >here'
        can write-home 'echo x >"$HOME/there"'
        can write-tmp 'echo x >/tmp/x'
        can write-etc 'echo x >/etc/x'
        can read-token-file 'cat /etc/sandbox-agent/environment'
        can see-token 'cat /proc/[0-9]*/environ | grep sesame'
        can see-process-1 'ls /proc/1'
        can see-homes 'ls /root /home'
        can make-namespace 'unshare --user --map-root-user true'
        can see-memory 'cat /proc/meminfo'
        can see-network 'ls /sys/class/net/lo'
        can become-root 'su -c true'
        if command -v node >/dev/null; then can compile 'node -e "for (let i = 0; i < 1e6; i++) Math.sqrt(i)"'; else echo compile; fi
    )
    printf '{"jsonrpc":"2.0","id":1,"result":"%s"}\n' "$(echo "$report" | tr '\n' ' ')"
    exec sleep 60
fi

failed=0
expect() {
    case $2 in
    *"$3"*) echo "ok: $1" ;;
    *) echo "FAILED: $1: expected $3, got: $2" && failed=1 ;;
    esac
}
ask() { curl --silent --max-time 60 --header 'authorization: Bearer sesame' "$@"; }
address=http://127.0.0.1:39468

expect 'the server reported that it is ready' "$(systemctl show -p ActiveState,SubState --value sandbox-agent | tr '\n' ' ')" 'active running'
expect 'the server requires the token' "$(curl --silent --output /dev/null --write-out '%{http_code}' $address/v1/health)" 401
expect 'the server is healthy' "$(ask $address/v1/health)" '"status":"ok"'
hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
expect 'the mock agent answers' "$(ask --json "$hello" "$address/v1/acp/mock?agent=mock")" '"protocolVersion":1'
report=$(ask --json "$hello" "$address/v1/acp/shell?agent=shell")
for word in write-workspace write-home write-tmp not-write-etc not-read-token-file not-see-token not-see-process-1 \
    not-see-homes make-namespace see-memory see-network not-become-root compile; do
    # The spaces around the word are needed because "not-write-etc" contains "write-etc".
    expect "an agent can: $word" " $(echo "$report" | sed 's/.*"result":"//; s/".*//') " " $word "
done
systemctl stop sandbox-agent
expect 'the server stops on request' "$(systemctl show -p ActiveState,Result --value sandbox-agent | tr '\n' ' ')" 'inactive'
expect 'the server stops without an error' "$(systemctl show -p Result --value sandbox-agent)" 'success'
expect 'no process of an agent is left' "$(pgrep -f 'probe.sh agent' || echo nothing)" nothing
[ $failed = 0 ] && echo 'all checks passed'

#!/usr/bin/env bash
# Makes several hosts of one Linux machine for mpirun: network namespaces on a bridge. Each has its own name, address,
# /dev/shm and temporary folder, which it also sees as $TMPDIR/hopscotch-hosts/disk. Their links have a given rate. Needs
# root and iproute2.
#   hosts.sh up N            make hosts h0 .. h(N-1)
#   hosts.sh rate RATE       limit every link, both directions: 1gbit, 100mbit, off
#   hosts.sh run NP CMD...   mpirun with NP ranks, one a host in turn, over TCP alone; CMD may begin with options of mpirun
#   hosts.sh cut I, heal I   unplug host I's link, and plug it in again
#   hosts.sh lose I          host I loses its power: its link is cut, then its processes are gone; no one is told
#   hosts.sh down            remove everything
# HOPSCOTCH_HOSTS=NAME (three letters or less): hosts of their own, beside those of others.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
name=${HOPSCOTCH_HOSTS:-hsc} net=10.78.0
folder=${TMPDIR:-/tmp}/hopscotch-hosts${HOPSCOTCH_HOSTS:+-$HOPSCOTCH_HOSTS}

count() { ip netns list | grep -c "^${name}[0-9]" || true; }

up() {
    mkdir -p "$folder/disk"
    ip link add "${name}br" type bridge
    ip link set "${name}br" up
    : > "$folder/hostfile"
    echo "127.0.0.1 localhost" > "$folder/hosts"
    for ((i = 0; i < $1; i++)); do
        ip netns add "$name$i"
        ip link add "${name}v$i" type veth peer name eth0 netns "$name$i"
        ip link set "${name}v$i" master "${name}br" up
        ip -n "$name$i" addr add "$net.$((10 + i))/24" dev eth0
        ip -n "$name$i" link set eth0 up
        ip -n "$name$i" link set lo up
        echo "$net.$((10 + i)) slots=1" >> "$folder/hostfile"
        echo "$net.$((10 + i)) h$i" >> "$folder/hosts"
    done
    # mpirun calls it in place of ssh: [options] HOST COMMAND...
    cat > "$folder/agent" <<AGENT
#!/usr/bin/env bash
while [[ "\$1" == -* ]]; do shift; done
i=\$((\${1##*.} - 10)); shift
mkdir -p $folder/tmp\$i
inside() {
    exec ip netns exec $name\$i unshare --uts --mount bash -c "hostname h\$i; \
        mount -t tmpfs tmpfs /dev/shm; mount --bind $folder/hosts /etc/hosts; \
        mount --bind $folder/tmp\$i $folder/disk; export TMPDIR=$folder/tmp\$i; \$*"
}
((i > 0)) || inside "\$@"
# Like ssh, this end does not learn over a cut link that the other one is gone.
(inside "\$@") && code=0 || code=\$?
while [[ -e $folder/cut\$i ]]; do sleep 0.2; done
exit \$code
AGENT
    chmod +x "$folder/agent"
}

# The bucket of tbf is small, so that a burst does not go through at full speed.
rate() {
    for ((i = 0; i < $(count); i++)); do
        tc -n "$name$i" qdisc del dev eth0 root 2> /dev/null || true
        tc qdisc del dev "${name}v$i" root 2> /dev/null || true
        [[ "$1" == off ]] && continue
        tc -n "$name$i" qdisc add dev eth0 root tbf rate "$1" burst 256kb latency 50ms
        tc qdisc add dev "${name}v$i" root tbf rate "$1" burst 256kb latency 50ms
    done
}

run() {
    local np=$1
    shift
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
    # Quoted once more: the agent's shell takes the words apart again.
    "$folder/agent" "$net.10" mpirun --hostfile "$folder/hostfile" --map-by node --oversubscribe --bind-to none \
        --mca plm_rsh_agent "$folder/agent" --mca plm rsh --mca ras ^slurm --mca pml ob1 --mca btl tcp,self \
        --mca btl_tcp_if_include "$net.0/24" --mca oob_tcp_if_include "$net.0/24" -np "$np" "$(printf '%q ' "$@")"
}

cut() {
    touch "$folder/cut$1"
    ip link set "${name}v$1" down
}

heal() {
    ip link set "${name}v$1" up
    rm -f "$folder/cut$1"
}

lose() {
    cut "$1"
    ip netns pids "$name$1" | xargs -r kill -9
}

down() {
    for ((i = $(count) - 1; i >= 0; i--)); do
        ip netns pids "$name$i" | xargs -r kill -9
        # Connections that were cut keep a namespace, and its end of the link, for minutes.
        ip link del "${name}v$i" 2> /dev/null || true
        ip netns del "$name$i"
    done
    ip link del "${name}br" 2> /dev/null || true
    rm -rf "$folder"
}

case "${1:-}" in
    up | rate | run | cut | heal | lose | down) "$@" ;;
    *) sed -n '2,12p' "$0" && exit 2 ;;
esac

#!/usr/bin/env bash
# A private Slurm with two nodes on this machine, to test the templates of slurm/. It needs neither systemd nor a database,
# leaves an installed Slurm alone, and runs as root or as an ordinary user.
#   slurm_local.sh up           start it (first installs missing packages with apt, if that is allowed)
#   slurm_local.sh run CMD...   run a command that talks to it: run sbatch slurm/cpu.sbatch experiment.json
#   slurm_local.sh status       its nodes and jobs; exit code 1 if it is not up
#   slurm_local.sh down         cancel its jobs, stop it and remove its folder
#   slurm_local.sh start n2     start the daemon of a node again, if something killed it
# HOPSCOTCH_SLURM: the folder of all its files, default ${TMPDIR:-/tmp}/hopscotch-slurm-$UID. A node pretends to have
# 32 CPUs and 4 GPUs. Partitions: `low`, the default, and `high`, whose jobs take the nodes away from those of `low`.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
folder=${HOPSCOTCH_SLURM:-${TMPDIR:-/tmp}/hopscotch-slurm-$UID}
nodes=(n1 n2)
export SLURM_CONF=$folder/slurm.conf
export PATH=$PATH:/usr/sbin:/sbin

install() {
    local packages=(slurm-wlm slurm-wlm-basic-plugins munge) as_root=(env)
    local by_hand="slurm_local: Slurm is missing; with root's rights: apt-get install --no-install-recommends ${packages[*]}"
    command -v munged slurmctld slurmd sbatch > /dev/null && return
    command -v apt-get > /dev/null || { echo "$by_hand (or what they are called here)" >&2; exit 1; }
    if [[ $UID -ne 0 ]]; then
        sudo -n true 2> /dev/null || { echo "$by_hand" >&2; exit 1; }
        as_root=(sudo -n env)
    fi
    local apt=("${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
    "${apt[@]}" install --no-install-recommends "${packages[@]}" >&2 && return
    "${apt[@]}" update >&2
    "${apt[@]}" install --no-install-recommends "${packages[@]}" >&2
}

# The first of three ports in a row on which no one listens.
free_ports() {
    local port i
    while true; do
        port=$((20000 + RANDOM % 8000))
        for i in 0 1 2; do (: < "/dev/tcp/127.0.0.1/$((port + i))") 2> /dev/null && continue 2; done
        echo "$port" && return
    done
}

configure() {
    local port user node
    port=$(free_ports)
    user=$(id -un)
    cat > "$SLURM_CONF" << CONF
ClusterName=hopscotch
# Open MPI names its shared memory by the job: two private Slurms must not have the same jobs.
FirstJobId=${port}00
SlurmctldHost=localhost
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
# A requeued job waits until its credential has expired: 120 s by default, at least 5.
AuthInfo=socket=$folder/munge/socket,cred_expire=5
SlurmctldPort=$port
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
# Both nodes together may claim more cores than the machine has.
SlurmdParameters=config_overrides
# Without folders of their own the nodes mix up the sockets of PMIx.
TmpFS=$folder/tmp-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog=$folder/task_prolog
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=pmix
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
SlurmctldTimeout=10
SlurmdTimeout=10
MessageTimeout=5
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=32 RealMemory=8000 Gres=gpu:4 State=UNKNOWN
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=32 RealMemory=8000 Gres=gpu:4 State=UNKNOWN
PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=20
PartitionName=high Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
CONF
    # No one opens these: the GPUs exist for the scheduler alone.
    touch "$folder"/gpu{0..3}
    echo "NodeName=n[1-2] Name=gpu File=$folder/gpu[0-3]" > "$folder/gres.conf"
    # The nodes share one host name and one /dev/shm, where Open MPI mixes up the segments of different nodes.
    cat > "$folder/task_prolog" << 'PROLOG'
#!/bin/sh
[ "$SLURM_NNODES" = 1 ] || echo "export OMPI_MCA_btl=tcp,self"
PROLOG
    chmod +x "$folder/task_prolog"
    mkdir -p "$folder/state" "$folder/munge"
    chmod 711 "$folder/munge"  # munged insists
    (umask 077; head -c 1024 /dev/urandom > "$folder/munge/key")
}

start_munge() {
    local in=$folder/munge
    munged --force --socket="$in/socket" --key-file="$in/key" --pid-file="$folder/munged.pid" --log-file="$in/log" \
        --seed-file="$in/seed" 2>> "$in/log"
}

# As a node that has just booted: a killed daemon's sockets would make the next steps fail.
start() {
    if alive "slurmd-$1"; then return; fi
    rm -rf "$folder/spool-$1" "$folder/tmp-$1"
    mkdir "$folder/spool-$1" "$folder/tmp-$1"
    slurmd -N "$1" -f "$SLURM_CONF"
}

# Whether the process of a pid file runs, and is one of ours.
alive() {
    local pid
    pid=$(cat "$folder/$1.pid" 2> /dev/null) && grep -qzF "$folder" "/proc/$pid/cmdline" 2> /dev/null
}

is_up() { alive munged && alive slurmctld && alive slurmd-n1 && alive slurmd-n2; }

# poll SECONDS WHAT CONDITION...
poll() {
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        ((SECONDS < end)) || { echo "slurm_local: no $what; see the logs in $folder" >&2; return 1; }
        sleep 0.1
    done
}

nodes_idle() { [[ $(sinfo -h -p low -t idle -o %D 2> /dev/null) == "${#nodes[@]}" ]]; }

up() {
    if is_up; then echo "up already: $folder" && return; fi
    install
    [[ ! -e $folder ]] || down
    mkdir -m 711 "$folder"
    configure
    start_munge
    slurmctld -f "$SLURM_CONF"
    local node
    for node in "${nodes[@]}"; do start "$node"; done
    poll 30 "idle nodes" nodes_idle
    echo "up: $folder"
}

no_jobs() { [[ -z $(squeue -h 2> /dev/null) ]]; }

# What a killed daemon left: the daemons of steps, by their folder, and what ran in them, by their environment.
leftovers() {
    local process
    for process in /proc/[0-9]*; do
        if [[ $(cat "$process/comm" 2> /dev/null) == slurmstepd ]]; then
            [[ $(readlink "$process/cwd") != "$folder" ]] || echo "${process#/proc/}"
        elif grep -qzxF "SLURM_CONF=$SLURM_CONF" "$process/environ" 2> /dev/null &&
            grep -qz '^SLURM_TASK_PID=' "$process/environ"; then
            echo "${process#/proc/}"
        fi
    done
}

gone() { ! kill -0 "$@" 2> /dev/null; }

end_daemons() {
    local daemon pids=()
    for daemon in slurmd-n1 slurmd-n2 slurmctld munged; do
        ! alive "$daemon" || pids+=("$(cat "$folder/$daemon.pid")")
    done
    [[ ${#pids[@]} -gt 0 ]] || return 0
    kill "${pids[@]}" 2> /dev/null || true
    poll 15 "end of the daemons" gone "${pids[@]}" || kill -9 "${pids[@]}" 2> /dev/null || true
}

down() {
    if ! grep -qsx ClusterName=hopscotch "$SLURM_CONF"; then echo "not up: $folder" && return; fi
    if is_up; then
        squeue -h -o %A | sort -u | xargs -r scancel
        poll 20 "end of the jobs" no_jobs || true
    fi
    end_daemons
    leftovers | xargs -r kill -9 2> /dev/null || true
    rm -rf "$folder"
    echo "down: $folder"
}

status() {
    is_up || { echo "not up: $folder"; exit 1; }
    sinfo
    squeue
}

case "${1:-}" in
    up | down | status) "$1" ;;
    start) start "${2:?which node}" ;;
    run) shift && exec "$@" ;;
    *) sed -n '2,10p' "$0" && exit 2 ;;
esac

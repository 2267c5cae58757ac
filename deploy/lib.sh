# shellcheck shell=bash
# Shared by deploy/quickstart and tests/run: what a fresh Debian machine lacks, and nothing twice.
# To be sourced; functions end the script with one line when they cannot do their work.

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$REPO/.venv

say() { printf '%s\n' "$*"; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# tick WHAT: show what is done and for how many seconds, until this script ends or ends it.
tick() {
    local begun=$SECONDS
    while kill -0 $$ 2>/dev/null; do
        printf '\r  %s: %s s' "$1" $((SECONDS - begun))
        sleep 1
    done
}

# run WHAT COMMAND...: run it quietly, with its time on a terminal; when it fails show the end of
# what it said.
run() {
    local what=$1 log ticker='' status=0
    shift
    log=$(mktemp)
    if [[ -t 1 ]]; then
        tick "$what" &
        ticker=$!
    fi
    "$@" >"$log" 2>&1 </dev/null || status=$?
    if [[ $ticker ]]; then
        kill "$ticker"
        wait "$ticker" 2>/dev/null || true
        printf '\r\033[K'
    fi
    if ((status)); then
        tail -n 15 "$log" >&2
        rm -f "$log"
        die "$what failed: $*"
    fi
    rm -f "$log"
}

# need_packages PACKAGE...: install the Debian packages that are missing.
need_packages() {
    local missing=() package
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || die "not root, and these Debian packages are missing: ${missing[*]}"
    say "installing Debian packages: ${missing[*]}"
    run "apt-get update" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive run "apt-get install" \
        apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# need_venv: $VENV, of the system's Python and just what the locks name.  Of Debian's own Python
# packages only mininet is let in: others stand in for locked ones, or break with them (an old
# pyOpenSSL with a new cryptography).
need_venv() {
    local lock=("$REPO"/deploy/requirements{,-test}.txt) stamp site
    stamp=$(cat "${lock[@]}" "$REPO/setup.cfg" "${BASH_SOURCE[0]}" | sha256sum)" $REPO"
    [[ $(cat "$VENV/lock" 2>/dev/null) == "$stamp" ]] && return 0
    say "making the virtual environment $VENV"
    run "making the virtual environment" /usr/bin/python3 -m venv --clear "$VENV"
    run "installing the Python packages" \
        "$VENV/bin/pip" install --disable-pip-version-check --quiet \
        -r "${lock[0]}" -r "${lock[1]}"
    # With the locked setuptools: nothing that the locks do not name is fetched.
    run "installing ofapp" "$VENV/bin/pip" install --disable-pip-version-check --quiet \
        --no-deps --no-build-isolation -e "$REPO"
    site=$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    ln -s /usr/lib/python3/dist-packages/mininet "$site/mininet"
    printf '%s\n' "$stamp" >"$VENV/lock"
}

ovs_runs() { ovs-vsctl --timeout=5 --no-wait get-manager >/dev/null 2>&1 &&
    ovs-appctl --timeout=5 -t ovs-vswitchd version >/dev/null 2>&1; }

# need_ovs: a running ovsdb-server and ovs-vswitchd.
need_ovs() {
    ovs_runs && return 0
    ((EUID == 0)) || die "not root, and Open vSwitch does not run"
    say "starting Open vSwitch"
    if [[ -d /run/systemd/system ]]; then
        run "starting Open vSwitch" systemctl start openvswitch-switch
    else
        run "starting Open vSwitch" \
            /usr/share/openvswitch/scripts/ovs-ctl start --system-id=random
    fi
    local deadline=$((SECONDS + 15))
    until ovs_runs; do
        ((SECONDS < deadline)) || die "Open vSwitch does not answer 15 s after it was started"
        sleep 0.2
    done
}

# copy_sources FOLDER: make a folder with what wheels are built from, as setuptools writes beside it.
copy_sources() {
    mkdir "$1"
    cp -r "$REPO"/{setup.cfg,pyproject.toml,MANIFEST.in,README.md,CHANGELOG.md,LICENSE,ofapp,deploy} "$1"
    find "$1" -name __pycache__ -prune -exec rm -r {} +
}

# record_origin: the commit and its time, for what is built of a copy without .git
# (deploy/wheel/backend.py; git's abbreviation, with -dirty if files were changed).
record_origin() {
    [[ -e $REPO/.git ]] || return 0
    OFAPP_COMMIT=${OFAPP_COMMIT:-$(git -C "$REPO" describe --always --dirty --abbrev=7 --exclude='*')}
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$REPO" log -1 --format=%ct)}
    export OFAPP_COMMIT SOURCE_DATE_EPOCH
}

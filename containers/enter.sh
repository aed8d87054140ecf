#!/bin/bash
# Becomes the command it is given, in the environment of the CANN that is here, else of the simulated NPU.
# It must be bash: under sh CANN's set_env.sh answers 0 and sets ASCEND_HOME_PATH to ".".
if [ -z "${BASH_VERSION:-}" ]; then
    echo "enter.sh: start it with bash, not sh: CANN's set_env.sh would set relative paths" >&2
    exit 2
fi
folder="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# As ascend_workbook/machine/cann.py looks for CANN; a test holds the two together.
roots=(/usr/local/Ascend/cann /usr/local/Ascend/ascend-toolkit/latest /usr/local/Ascend/nnae/latest
       ~/Ascend/cann ~/Ascend/ascend-toolkit/latest)
if [ -n "${ENTER_ROOTS:-}" ]; then roots=("$ENTER_ROOTS"); fi
simulator="$folder/.venv/share/ascend-workbook/simulator"
nnal=/usr/local/Ascend/nnal/atb/set_env.sh
sourced=""
for root in "${roots[@]}" "${ASCEND_WORKBOOK_SIMULATOR:-$simulator}"; do
    for script in "$root/set_env.sh" "${root%/*}/set_env.sh"; do
        if [ -z "$sourced" ] && [ -d "$root" ] && [ -f "$script" ]; then
            # shellcheck source=/dev/null
            source "$script" || { echo "enter.sh: sourcing $script failed" >&2; exit 2; }
            sourced="$script"
        fi
    done
done
case "$sourced" in
    ""|"$simulator"*) ;;
    *) if [ -f "$nnal" ]; then
           # shellcheck source=/dev/null
           source "$nnal"
       fi ;;
esac
if [ -n "$sourced" ] && [ "${ASCEND_HOME_PATH:0:1}" != / ]; then
    echo "enter.sh: $sourced left no absolute ASCEND_HOME_PATH: is CANN installed whole?" >&2
    exit 2
fi
# An empty entry is the current folder: to Python as to the loader. CANN's script leaves one in PYTHONPATH.
for name in PYTHONPATH LD_LIBRARY_PATH PATH; do
    value="$(printf %s "${!name:-}" | tr -s : | sed 's/^://; s/:$//')"
    if [ -n "$value" ]; then export "$name=$value"; else unset "$name"; fi
done
export PATH="$folder/.venv/bin:${PATH:-/usr/local/bin:/usr/bin:/bin}"
if [ "$#" = 0 ]; then set -- /bin/bash; fi
exec "$@"

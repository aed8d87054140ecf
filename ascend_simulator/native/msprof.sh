#!/bin/sh
# msprof of the simulated NPU. -I: nothing of the profiled program's own folders or variables gets in its way.
here=$(dirname "$(readlink -f "$0")")
exec python3 -I "$here/../profiler_tool/analysis/msprof/msprof.py" "$@"

"""What a profile is judged by. PRF30x: what was recorded; PRF31x: where the time goes; PRF33x: operators.

Each rule's finding carries a bound: no change of that kind can save more. `weight` is the bound in percent."""

from ascend_workbook.findings.finding import Remarks

#: Rules that may judge estimated times: shares, sizes and counts. How steps differ, how well one thing hides another
#: and what a host does between launches no estimate knows.
ON_ESTIMATES = (
    *("PRF302", "PRF304", "PRF305", "PRF322", "PRF331", "PRF342", "PRF345", "PRF360", "PRF361", "PRF362", "PRF363"),
    *(
        "PRF364",
        "PRF401",
        "PRF402",
        "PRF403",
        "PRF404",
        "PRF405",
        "PRF406",
        "PRF407",
        "PRF367",
        "PRF368",
        "PRF369",
        "PRF390",
        "PRF398",
    ),
)
#: Rules of device time that judge a simulated NPU's profile by counts and structure alone: what is launched, in which
#: dtype and with which shapes, and which values are read is the script's own. What it costs is not known there.
BY_COUNTS = (*(f"PRF36{number}" for number in range(5)), "PRF367", "PRF390", "PRF397", "PRF398")
BENCHMARK = (*(f"PRF37{number}" for number in range(1, 10)), "PRF389")
#: What costs time on the host where no real device took part
HOSTS_OWN = ("PRF313.host", "PRF314.read", "PRF314.read_somewhere")
#: Some steps of many were looked at
SOME_STEPS = ("PRF302.some", "PRF358.some", "PRF388.some")
#: What a recording cost, what a benchmark's figures say, which steps all of it is about.
REMARKS = Remarks(answers=("PRF300", "PRF316", *HOSTS_OWN, *BENCHMARK, *SOME_STEPS), summaries=("PRF310",))

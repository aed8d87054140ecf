"""What a profile is judged by. PRF30x: what was recorded; PRF31x: where the time goes; PRF33x: operators.

Each rule's finding carries a bound: no change of that kind can save more. `weight` is the bound in percent."""

from ascend_workbook.findings.finding import Remarks

BENCHMARK = tuple(f"PRF37{number}" for number in range(1, 9))
#: What costs time on the host where no real device took part
HOSTS_OWN = ("PRF313.host", "PRF314.read", "PRF314.read_somewhere")
#: Some steps of many were looked at
SOME_STEPS = ("PRF302.some", "PRF358.some", "PRF388.some")
#: What a recording cost, what a benchmark's figures say, which steps all of it is about.
REMARKS = Remarks(answers=("PRF300", *HOSTS_OWN, *BENCHMARK, *SOME_STEPS), summaries=("PRF310",))

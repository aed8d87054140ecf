"""What a profile is judged by. PRF30x: what was recorded; PRF31x: where the time goes; PRF33x: operators.

Each rule's finding carries a bound: no change of that kind can save more. `weight` is the bound in percent.
"""

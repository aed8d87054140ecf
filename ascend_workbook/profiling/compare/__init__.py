"""A profile held against another: GPU against NPU, before against after. facts -> rows that add up -> a Report."""

"""Many ranks of one run: which profile is whose, what each collective waits for, who is slow, how stages balance.

Facts of a rank (facts.RankFacts) are small and are made where its profile is read: in a process of its own, or on a
machine of a Dask cluster. All ranks together (cluster.Cluster) are what rules/ judges, codes PRF35x."""

"""What the ranks of a run are judged by together (cluster.Cluster), codes PRF35x. Bounds are in milliseconds a step."""

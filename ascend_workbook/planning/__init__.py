"""Planning: rehearse a training at its full size without an NPU, and choose how to spread it over cards."""

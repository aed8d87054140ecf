"""What the device does and why it rests: idle time by cause, launches, units of an NPU, memory."""

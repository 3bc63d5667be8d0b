"""Where it runs: device and precision, capture, processes, time, memory, random numbers, sealed files."""

"""Side-by-side measurements of whole crawls: `python -m benchmarks.sites`, `python -m benchmarks.startup`."""

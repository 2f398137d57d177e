"""The parts of the HTTP transport, each by itself: seams, streams, budget, probes, request parsing."""

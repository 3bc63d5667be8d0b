"""Where capabilities meet: a trial becomes a run."""

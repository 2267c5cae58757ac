"""Everything that knows OpenFlow 1.3: the pipeline as data, flows, the channel, reconciliation."""

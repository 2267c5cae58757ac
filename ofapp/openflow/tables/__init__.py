"""The tables, declared; `ofapp.openflow.pipeline` puts them together."""

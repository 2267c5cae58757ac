"""The bridge itself, sans-IO: inputs and a time in, effects out.

Nothing below this package reads a clock, opens a socket or knows OpenFlow. That is what lets
every protocol run in virtual time: a test passes `now` and looks at the effects it gets back.
"""

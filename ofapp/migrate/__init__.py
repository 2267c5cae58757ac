"""`ofapp import`: the configuration of another bridge, rewritten as a file of ofapp.

Each source is a reader and tables of rules (`rules`), which name the setting of ofapp for each key,
or say why there is none.  What no table names is reported.  The result is collected in a `Draft`,
which validates it by the configuration's model and reports each value that the model refuses.
"""

"""The network's twin: a copy of the bridges that runs in virtual time, to predict a change.

`copied` makes a bridge like another; `TwinNetwork` carries frames between such bridges; `predict`
makes changes in it and describes what follows.
"""

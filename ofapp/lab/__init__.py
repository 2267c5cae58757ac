"""The laboratory: bridges, cables and hosts in virtual time, in a browser.

`network` carries frames of hosts between bridges of the twin, `laboratory` is what a student
changes and sees, `labs` has networks to begin with, their theory and their exercises.  These three
run in the browser, so they import `ofapp.bridge` alone.  `files` makes the static files, with
Pyodide, and `web/` is the page.
"""

"""The generated pages: `python -m ofapp.reference` writes them, a test compares them.

Each module makes one page from the declarations of its subject.  The pages are committed, as a
controller that serves them needs neither the launcher nor the commands.
"""

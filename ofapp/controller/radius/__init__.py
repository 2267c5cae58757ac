"""The RADIUS client (RFC 2865, 3579): answers the questions of port access control.

`packets.py` is the only module that uses the library, pyrad.  `client.py` sends and waits;
`authentication.py` connects bridges with clients.
"""

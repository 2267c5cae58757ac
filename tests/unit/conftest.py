"""What these tests share."""

# eventlet looks through all that is loaded for locks to replace, and writes a traceback for each
# object that does not bear it, as pydantic's and werkzeug's do not: so it comes before them here,
# as it does in `ofapp-manager`.
import ofapp.hub  # noqa: F401

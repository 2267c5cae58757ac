"""The error for a request that cannot be carried out."""


class InputError(ValueError):
    """A request that cannot be carried out; `field` names what is wrong with it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field

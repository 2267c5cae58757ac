"""What is used of flask-openapi, which was called flask-openapi3 before its release 5.0."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

__all__ = ["APIBlueprint", "Info", "OpenAPI", "Tag", "swagger_templates"]

if TYPE_CHECKING:  # mypy would see each name twice
    from flask_openapi3.blueprint import APIBlueprint
    from flask_openapi3.models.info import Info
    from flask_openapi3.models.tag import Tag
    from flask_openapi3.openapi import OpenAPI
else:
    try:
        from flask_openapi.blueprint import APIBlueprint
        from flask_openapi.models.info import Info
        from flask_openapi.models.tag import Tag
        from flask_openapi.openapi import OpenAPI
    except ModuleNotFoundError:
        from flask_openapi3.blueprint import APIBlueprint
        from flask_openapi3.models.info import Info
        from flask_openapi3.models.tag import Tag
        from flask_openapi3.openapi import OpenAPI


def swagger_templates() -> Traversable:
    """The folder with Swagger UI's files, of the package that goes with the other."""
    package = OpenAPI.__module__.partition(".")[0]
    return files(f"{package}_swagger") / "templates" / "swagger"

"""The tool `list_resources`: resources for models whose client shows them none. Managed by the template."""

from fastmcp import Context
from pydantic import BaseModel, Field

from .declarations import read

WORKFLOW = "Read the resources that fit first, for context; then call tools."


class ListedResource(BaseModel):
    """One resource, or one resource template."""

    uri: str = Field(description="Where to read it; fill in what stands in braces")
    name: str = Field(description="Its name")
    description: str | None = Field(description="What it holds, and when to use it")


class Guidance(BaseModel):
    """How to continue."""

    workflow: str = Field(description="What to do with the list")


class ListResourcesResult(BaseModel):
    """Result of list_resources."""

    total_resources: int = Field(description="Number of resources, without the templates")
    resources: list[ListedResource] = Field(description="The resources")
    resource_templates: list[ListedResource] = Field(description="URIs with {variables}")
    guidance: Guidance = Field(description="How to continue")


@read(title="List Resources", open_world=False)
async def list_resources(ctx: Context) -> ListResourcesResult:
    """List the resources and resource templates of this server, as resources/list has them now."""
    server = ctx.fastmcp
    found = {str(item.uri): item for item in await server.list_resources()}
    templates = {item.uri_template: item for item in await server.list_resource_templates()}
    listed, patterns = (
        [
            ListedResource(uri=uri, name=item.name, description=item.description)
            for uri, item in items.items()
        ]
        for items in (found, templates)
    )
    return ListResourcesResult(
        total_resources=len(listed),
        resources=listed,
        resource_templates=patterns,
        guidance=Guidance(workflow=WORKFLOW),
    )

"""The tool `list_resources`: resources for models whose client shows them none."""

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

    workflow: str = Field(default=WORKFLOW, description="What to do with the list")


class ListResourcesResult(BaseModel):
    """Result of list_resources."""

    total_resources: int = Field(
        description="Number of resources, without the templates"
    )
    resources: list[ListedResource] = Field(description="The resources")
    resource_templates: list[ListedResource] = Field(
        description="URIs with {variables}"
    )
    guidance: Guidance = Field(default=Guidance(), description="How to continue")


@read(title="List Resources", open_world=False)
async def list_resources(ctx: Context) -> ListResourcesResult:
    """List the resources and resource templates of this server, as resources/list has them now."""
    items = {str(item.uri): item for item in await ctx.fastmcp.list_resources()}
    patterns = {
        item.uri_template: item for item in await ctx.fastmcp.list_resource_templates()
    }
    resources, templates = (
        [
            ListedResource(uri=uri, name=i.name, description=i.description)
            for uri, i in rows.items()
        ]
        for rows in (items, patterns)
    )
    return ListResourcesResult(
        total_resources=len(resources),
        resources=resources,
        resource_templates=templates,
    )

"""The tool `list_resources`: resources for models whose client shows them none."""

from fastmcp import Context
from fastmcp.resources import Resource, ResourceTemplate
from pydantic import BaseModel, Field

from .declarations import read

WORKFLOW = "Read the relevant resources first, for context; then call tools."


class ListedResource(BaseModel):
    """One resource, or one resource template."""

    uri: str = Field(description="Its address; fill in what is in braces")
    name: str = Field(description="Its name")
    description: str | None = Field(description="Its contents, and when to use it")


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


def _describe_item(uri: str, item: Resource | ResourceTemplate) -> ListedResource:
    return ListedResource(uri=uri, name=item.name, description=item.description)


@read(title="List Resources", open_world=False)
async def list_resources(ctx: Context) -> ListResourcesResult:
    """List the resources and resource templates of this server, as resources/list has them now."""
    resources: dict[str, ListedResource] = {}
    templates: dict[str, ListedResource] = {}
    for item in await ctx.fastmcp.list_resources():
        uri = str(item.uri)
        resources[uri] = _describe_item(uri, item)
    for template in await ctx.fastmcp.list_resource_templates():
        uri = template.uri_template
        templates[uri] = _describe_item(uri, template)
    return ListResourcesResult(
        total_resources=len(resources),
        resources=[*resources.values()],
        resource_templates=[*templates.values()],
    )

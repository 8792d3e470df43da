"""An OpenAPI document as tools: read it, name what each operation does, write it as answers."""

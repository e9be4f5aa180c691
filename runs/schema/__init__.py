"""The words of a run log: pydantic models, frozen, unknown keys refused. Import from the module that holds them."""

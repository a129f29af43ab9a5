"""Plant files: one declarative statement of a site, as YAML."""

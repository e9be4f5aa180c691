"""The sections of `cell.toml`, by what they set; each setting has its unit in its name and a word on what it is for."""

"""A run log as a page for people: pure functions from a log to Rich renderables. They open and print nothing."""

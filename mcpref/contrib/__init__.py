"""mcpref inside other people's programs: web frameworks, and the servers that host them.

Each module needs what it is named after, and is imported by nothing else.
"""

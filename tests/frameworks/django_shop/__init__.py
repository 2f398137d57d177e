"""A small Django project: users, orders, and an MCP server over both.

Served by a real host in test_django_served.py, and in this process, with Django's test client, in test_django.py.
"""

"""mcpref inside Django: an `McpServer` as one view of a project that is served over WSGI.

::

    # settings.py
    MCPREF = {"SERVER": "shop.mcp.server"}

    # urls.py
    urlpatterns = [path("", include("mcpref.contrib.django.urls"))]

or, without the setting, ``re_path(r"^mcp/?$", mcp_view(server))``.

Django's own rules hold: ALLOWED_HOSTS and CSRF_TRUSTED_ORIGINS say who may come, ``request.user`` is who came
(``ctx.auth.user``), SECRET_KEY seals what a round leaves with the client, ATOMIC_REQUESTS puts each call into a
transaction. What is particular to threads is in embedding.py.

``mcpref.contrib.django`` in INSTALLED_APPS has ``manage.py check`` look at the setting; nothing else needs it.
"""

from .views import mcp_view

__all__ = ["mcp_view"]

"""Routes for ``path("", include("mcpref.contrib.django.urls"))``: what the setting ``MCPREF`` says."""

from .config import read_config, routes

urlpatterns = routes(read_config())

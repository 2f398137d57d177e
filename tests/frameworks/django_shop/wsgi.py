"""What a WSGI host serves."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.frameworks.django_shop.settings")

application = get_wsgi_application()

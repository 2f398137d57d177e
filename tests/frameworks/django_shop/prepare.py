"""Make the database, with users and a session for each: prints the session cookies, by user, as JSON."""

import json
import os

import django

USERS = ("anna", "ben", "carla", "dora")


def prepare() -> dict[str, str]:
    """Django must be set up."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.test import Client

    call_command("migrate", run_syncdb=True, verbosity=0)
    cookies = {}
    for name in USERS:
        client = Client()
        client.force_login(get_user_model().objects.create_user(name))
        cookies[name] = client.cookies["sessionid"].value
    return cookies


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.frameworks.django_shop.settings")
    django.setup()
    print(json.dumps(prepare()))

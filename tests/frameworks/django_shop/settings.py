"""The project's settings. What tests vary between processes comes from the environment."""

import os
from typing import Any

SECRET_KEY = "for tests alone, and known to everybody"
ALLOWED_HOSTS = ["localhost", "shop.example", ".wild.example"]
CSRF_TRUSTED_ORIGINS = ["https://partner.example", "https://*.friends.example"]
ROOT_URLCONF = "tests.frameworks.django_shop.urls"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGES = [("en", "English"), ("de", "German")]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# The tests of this repository share their process's logging with it.
LOGGING_CONFIG = None

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "mcpref.contrib.django",
    "tests.frameworks.django_shop",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "tests.frameworks.django_shop.middleware.read_bodies",
]


def _database(name: str) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": name,
        "ATOMIC_REQUESTS": os.environ.get("SHOP_ATOMIC") == "1",
        "CONN_MAX_AGE": int(os.environ.get("SHOP_CONN_MAX_AGE", "0")),
        # Many threads write: they queue for the lock at the start of a transaction, where waiting helps.
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;",
        },
    }


DATABASES = {
    "default": _database(os.environ.get("SHOP_DATABASE", ":memory:")),
    "archive": _database(os.environ.get("SHOP_DATABASE", ":memory:") + ".archive"),
}

MCPREF = {"SERVER": "tests.frameworks.django_shop.mcp.server", "PAGE": True}

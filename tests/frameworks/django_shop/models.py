"""What the shop keeps."""

from django.conf import settings
from django.db import models


class Order(models.Model):  # type: ignore[misc]
    """Something a user wants."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True)
    what = models.CharField(max_length=100)
    paid = models.BooleanField(default=False)

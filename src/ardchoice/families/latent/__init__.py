"""The latent class logit."""

from ardchoice.families.latent.family import LatentClass

__all__ = ["LatentClass"]

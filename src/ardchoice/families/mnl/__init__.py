"""The multinomial logit."""

"""Credit of a reply, and advantage over those it is compared with."""

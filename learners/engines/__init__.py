"""Engines that sample the replies: this process, or inference servers."""

"""The choices: one folder per Hydra group, one yaml per option."""

if __name__ == "conf":
    raise ImportError("this folder is imported as laconic.conf: write `from laconic import conf`")

"""What a reply is credited with, and what it is compared with."""

"""Object storage: a second place for what is finished, archive files that are closed and views that are whole.

Nothing here knows what a crawl is. The web is never asked: the only sockets go to the storage that the user named.
"""

"""The door: the only room with sockets in it. `client` fetches, `guard` says what may be connected, `decode` reads bodies."""

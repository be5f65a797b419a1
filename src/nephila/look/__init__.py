"""What people look up in crawl.db: tables of addresses, one address, who links to it, the shape of a site.

Nobody's crawl is to notice that somebody looks: the connection is read-only, no index is added for it, and a question that would
read a large table reads it in parts, each a short query without a transaction around them, until its time is over. The answer then says
how far it looked, and where to go on (docs/decisions/0046-looking-without-an-index.md).
"""

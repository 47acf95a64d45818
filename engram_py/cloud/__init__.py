"""The team's server: it stores what replicas push in PostgreSQL, and gives each the rows of the projects it may read.

``routes.build_cloud_application`` is the ASGI application and ``server.prepare`` brings a database up to date.
``accounts`` decides who may do what, ``validation`` parses pushed rows, ``pushing`` stores and ``chunks`` returns
them; ``admin`` is what an administrator does, by the command or by HTTP.
"""

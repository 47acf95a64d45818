"""Keep the memory in step with a team's server: in the background of server processes, and on request.

Ask ``service.Autosync`` (``app.autosync``) to log in, enroll projects, sync now and report the status. ``worker`` is
the background thread, ``exchange`` one run of ``pull`` and ``push`` under the lease; ``schedule`` decides when to run,
``login`` knows the server and its token.
Nothing is sent until somebody logs in and enrolls a project.
"""

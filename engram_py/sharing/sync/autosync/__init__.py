"""Keep the memory in step with a team's server: in the background of server processes, and on request.

Ask ``service.Autosync`` (``app.autosync``) to log in, enroll projects, sync now and report the status. ``schedule``
decides when to sync, and is the background thread; ``exchange`` is one run of ``pull`` and ``push`` under the lease,
``client`` what they ask the server through; ``login`` knows the server and its token.
Nothing is sent until somebody logs in and enrolls a project.
"""

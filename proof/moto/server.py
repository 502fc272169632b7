"""SQS for tests: prints the port it listens on, and ends with its standard input."""

import sys
from threading import Lock, Thread

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *args, **kwargs):
        pass


class OneAtATime:
    """The queues of moto are not safe for several threads: two receives at once take the same message."""

    def __init__(self, app):
        self.app, self.lock = app, Lock()

    def __call__(self, environ, start_response):
        # A connection stays. Where it is closed behind each answer, as moto asks for, a client loses an answer now and then, and sends again.
        def kept(status, headers, *rest):
            return start_response(status, [h for h in headers if h[0].lower() != "connection"], *rest)

        with self.lock:
            return self.app(environ, kept)


app = OneAtATime(DomainDispatcherApplication(create_backend_app))
server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()

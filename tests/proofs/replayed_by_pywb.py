"""Runs where pywb is installed: `FOLDER WACZ URL…` replays each address from the file and prints what came as a JSON line.

The wayback machine runs in this process and is called as the WSGI application that it is.
"""

from gevent import monkey

monkey.patch_all()

import io  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402

from pywb.apps.frontendapp import FrontEndApp  # noqa: E402
from pywb.manager.manager import main as manage  # noqa: E402


def get(app, path):
    path, _, query = path.partition("?")
    told = []
    environ = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "REQUEST_URI": path + ("?" + query if query else ""),
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
    }
    body = b"".join(app(environ, lambda status, headers, *error: told.extend([status, headers])))
    return {"status": told[0], "headers": told[1], "body": body.decode("latin-1")}


os.chdir(sys.argv[1])
out, sys.stdout = sys.stdout, sys.stderr
manage(["init", "all"])
manage(["add", "--unpack-wacz", "all", sys.argv[2]])
app = FrontEndApp(custom_config={"framed_replay": False})
for url in sys.argv[3:]:
    print(json.dumps(get(app, url)), file=out, flush=True)
out.flush()
os._exit(0)

"""The example site on the standard library's server: two pages behind the gate, and a button for who is done."""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

from gate import Sessions
from jari import Jari, Offline, Refused, Unknown

COOKIE = "site_session"
# What Jari calls the token in the address that it sends people to.
TOKEN = "jari_pass"


def page(body):
    return f'<!doctype html><html lang="en"><title>Show</title>{body}</html>'


class Site(BaseHTTPRequestHandler):
    # Set once at the start.
    jari = sessions = verify = own = None

    def do_GET(self):
        self.judge(lambda person: self.answer(200, page(
            f"<h1>You are inside</h1><p>To the room you are {person[1]}.</p>"
            '<form method="post" action="/done"><button>I am done</button></form>'
        )))

    def do_POST(self):
        self.judge(self.done)

    def done(self, person):
        """Whoever is done makes room for the next."""
        self.sessions.forget(person[0])
        try:
            self.jari.end([person[0]])
        except Unknown:
            pass  # The pass ends by itself, since nobody touches it any more.
        self.answer(200, page("<h1>Thank you</h1>"))

    def judge(self, inside):
        """A session goes on to the site, a one-time token becomes a session, everybody else goes to the room."""
        # "@host/" behind our own name would be another host's.
        if not self.path.startswith("/"):
            return self.answer(400, page("<p>That is no address of this site.</p>"))
        asked = urlsplit(self.path)
        query = parse_qsl(asked.query, keep_blank_values=True)
        others = urlencode([(name, value) for name, value in query if name != TOKEN])
        # The token goes from the address, so that it is neither bookmarked nor sent on.
        here = self.own + asked.path + (f"?{others}" if others else "")
        person = self.sessions.find(self.cookie())
        token = dict(query).get(TOKEN)
        if token is not None:
            self.land(token, here, person)
        elif person:
            inside(person)
        else:
            self.away(self.jari.room_page(here))

    def cookie(self):
        """Ours, among whatever the browser has: SimpleCookie would read none once one has letters that are no ASCII."""
        pairs = [pair.strip() for pair in self.headers.get("cookie", "").split(";")]
        return next((pair[len(COOKIE) + 1:] for pair in pairs if pair.startswith(COOKIE + "=")), None)

    def land(self, token, here, person):
        try:
            session = self.sessions.begin(*self.verify(token))
        except Refused:
            # An old link, opened by someone who is inside: they stay.
            return self.away(here if person else self.jari.room_page(here))
        except Unknown:
            text = "One moment, please: the waiting room cannot be asked. Load this page again."
            return self.answer(503, page(f"<p>{text}</p>"), {"Retry-After": "2"})
        secure = "; Secure" if self.own.startswith("https:") else ""
        cookie = f"{COOKIE}={session}; Path=/; HttpOnly; SameSite=Lax{secure}"
        return self.away(here, {"Set-Cookie": cookie})

    def away(self, to, headers=None):
        quiet = {"Location": to, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
        self.answer(303, "", quiet | (headers or {}))

    def answer(self, status, text, headers=None):
        body = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing: the address of a landing has a token in it."""


class Server(ThreadingHTTPServer):
    # People come in a rush; five, the default, may wait otherwise.
    request_queue_size = 128


def main():
    environment = os.environ
    missing = [name for name in ("JARI_URL", "JARI_KEY", "JARI_ROOM") if not environment.get(name)]
    if missing:
        sys.exit(f"not set: {', '.join(missing)}")
    server = Server(("127.0.0.1", int(environment.get("PORT", "3000"))), Site)
    here = f"http://127.0.0.1:{server.server_port}"
    jari = Jari(environment["JARI_URL"], environment["JARI_KEY"], environment["JARI_ROOM"])
    Site.jari, Site.own = jari, environment.get("SITE_URL", here).rstrip("/")
    Site.sessions = Sessions(jari, int(environment.get("TOUCH_EVERY_MS", "5000")) / 1000)
    offline = environment.get("OFFLINE") == "1"
    Site.verify = (Offline(jari, environment.get("JARI_TENANT", "default")) if offline else jari).verify
    print(f"listening on {here}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

"""The part of Jari's API that a site needs: three calls with the tenant's key, and the check of a token without any."""

import http.client
import json
import secrets
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

# A visitor waits for the answer to a landing; nobody waits for a touch.
DEADLINE_S = 3


class Refused(Exception):
    """The token is not good: the visitor gets another one in the room."""


class Unknown(Exception):
    """Jari did not answer, or not what it should: nothing is known of the token."""


class Jari:
    def __init__(self, url, key, room):
        self.url, self.key, self.room = url.rstrip("/"), key, room

    def room_page(self, back):
        """The room's page, which leads back to `back`."""
        return f"{self.url}/rooms/{self.room}?{urllib.parse.urlencode({'return': back})}"

    def verify(self, token):
        """Shows a token; answers (pass, subject)."""
        # Repeated with the same nonce, so that an answer that was lost costs nobody their turn.
        body = {"token": token, "nonce": secrets.token_hex(16), "room": self.room}
        try:
            status, answer = self.post("verify", body)
        except Unknown:
            status, answer = self.post("verify", body)
        if status == 200:
            return answer["pass"], answer["subject"]
        if status == 428:
            raise Refused(answer.get("reason"))
        raise Unknown(f"{status} {answer.get('code')}")

    def touch(self, passes):
        """Says that these are in use; answers those that are not good any more."""
        # "recovering" means: ask again. Nobody is sent away for what Jari does not know.
        told = self.about("touch", passes)
        return [each["pass"] for each in told if each["status"] in ("ended", "unknown")]

    def end(self, passes):
        """Says that their owners are done."""
        self.about("end", passes)

    def about(self, call, passes):
        status, answer = self.post(call, {"passes": passes})
        if status != 200:
            raise Unknown(f"{status} {answer.get('code')}")
        return answer["passes"]

    def post(self, call, body):
        request = urllib.request.Request(f"{self.url}/v1/passes/{call}", json.dumps(body).encode(), method="POST")
        request.add_header("content-type", "application/json")
        request.add_header("authorization", f"Bearer {self.key}")
        try:
            try:
                with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
                    status, told = answer.status, json.load(answer)
            except urllib.error.HTTPError as refusal:
                status, told = refusal.code, json.load(refusal)
        # A proxy between may answer with a page, or break off.
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unknown(str(error)) from error
        if not isinstance(told, dict):
            raise Unknown(f"{status} without an object")
        return status, told


class Offline:
    """Checks tokens by the public keys alone. What was used, this process remembers until the token's own end."""

    def __init__(self, jari, tenant):
        import jwt  # Only who checks by themselves needs it.

        self.jwt, self.jari, self.tenant = jwt, jari, tenant
        # Asked again for a key that is not known yet: a new one is shown before it signs.
        self.keys = jwt.PyJWKClient(f"{jari.url}/.well-known/jwks.json", timeout=DEADLINE_S)
        self.lock, self.used = threading.Lock(), {}

    def verify(self, token):
        jwt = self.jwt
        try:
            if jwt.get_unverified_header(token).get("typ") != "jari-pass+jwt":
                raise Refused("another kind of token")
            key = self.keys.get_signing_key_from_jwt(token)
            # The one algorithm that the keys are for, whatever the token says; our tenant, our Jari, and the claims we read.
            claims = jwt.decode(
                token,
                key,
                algorithms=["EdDSA"],
                audience=self.tenant,
                issuer=self.jari.url,
                leeway=2,  # Two machines' clocks are never the same.
                options={"require": ["exp", "iat", "aud", "iss", "sub", "jti"]},
            )
        except jwt.PyJWKClientConnectionError as error:
            raise Unknown(str(error)) from error
        except jwt.PyJWTError as error:
            raise Refused(str(error)) from error
        if claims["room"] != self.jari.room:
            raise Refused("of another room")
        with self.lock:
            now = time.time()
            self.used = {jti: end for jti, end in self.used.items() if end > now}
            if claims["jti"] in self.used:
                raise Refused("used")
            self.used[claims["jti"]] = claims["exp"]
        return claims["pass"], claims["sub"]

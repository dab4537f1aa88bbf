"""Who is inside: the site's own sessions, each with the pass it stands for. In memory; asks Jari by the batch."""

import secrets
import threading
import time
import traceback

from jari import Unknown

# Passes in one call: Jari takes no more.
BATCH_MAX = 500


class Sessions:
    def __init__(self, jari, touch_every_s):
        self.jari, self.touch_every_s = jari, touch_every_s
        self.lock, self.by_id, self.used = threading.Lock(), {}, set()
        threading.Thread(target=self.keep_touching, daemon=True).start()

    def begin(self, its_pass, subject):
        """A new session for a pass; one that the pass had before ends, so that one pass is one person."""
        self.forget(its_pass)
        session = secrets.token_hex(16)
        with self.lock:
            self.by_id[session] = (its_pass, subject)
        return session

    def find(self, session):
        """(pass, subject), noted as a use of the pass; None for whoever is not inside."""
        with self.lock:
            person = self.by_id.get(session)
            if person:
                self.used.add(person[0])
            return person

    def forget(self, its_pass):
        with self.lock:
            self.by_id = {session: person for session, person in self.by_id.items() if person[0] != its_pass}
            self.used.discard(its_pass)

    def keep_touching(self):
        """Touches the passes that were used, all together, and ends the sessions of those that are not good any more."""
        while True:
            time.sleep(self.touch_every_s)
            with self.lock:
                used, self.used = sorted(self.used), set()
            for start in range(0, len(used), BATCH_MAX):
                batch = used[start : start + BATCH_MAX]
                try:
                    for its_pass in self.jari.touch(batch):
                        self.forget(its_pass)
                except Exception as error:
                    # They go with the next call: who is inside stays inside while Jari is away. Whatever it was, this thread
                    # must not end: passes that nobody touches end one by one.
                    if not isinstance(error, Unknown):
                        traceback.print_exception(error)
                    with self.lock:
                        self.used.update(batch)

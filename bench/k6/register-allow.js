// Register, wait, be let in, while a tenant admits 100 people a second: the arrivals of the replaced waiting service's
// report. k6 has no event streams, so people poll here as often as the server tells them; `jari-load rush` plays the same
// rates with streams. FORM is base, plus35 or stress.

import http from 'k6/http';
import { check, sleep } from 'k6';
import { Counter, Trend } from 'k6/metrics';

const URL = __ENV.URL || 'http://127.0.0.1:8080';
const ROOM = __ENV.ROOM || 'bench';
const KEY = __ENV.JARI_ADMIN_KEY;
const FORM = __ENV.FORM || 'base';
const SCALE = Number(__ENV.SCALE || 1);
const seconds = (n) => `${Math.max(1, Math.round(n * SCALE))}s`;

const ADMIT_AT_ONCE = 100;
const ADMIT_FROM_S = 10;
const ADMIT_FOR_S = 200;

// The rate at the start, then [rate, seconds to get there]; and how many wait at the most, each on a user of k6's that
// must be there in time.
const FORMS = {
  base: { start: 300, most: 10100, stages: [[300, 10], [180, 40], [50, 60], [0, 20]] },
  plus35: { start: 405, most: 16600, stages: [[405, 10], [243, 40], [68, 60], [0, 20]] },
  stress: { start: 400, most: 19400, stages: [[400, 20], [250, 40], [50, 60], [0, 20]] },
};
const form = FORMS[FORM];
if (!form || !KEY) {
  throw new Error('FORM is base, plus35 or stress, and JARI_ADMIN_KEY is a key that may admit');
}

const registration = new Trend('registration', true);
const allow = new Trend('allow', true);
const poll = new Trend('poll', true);
const registered = new Counter('registered');
const admitted = new Counter('admitted');
const letIn = new Counter('let_in');

export const options = {
  scenarios: {
    people: {
      executor: 'ramping-arrival-rate',
      exec: 'person',
      startRate: form.start,
      timeUnit: '1s',
      // Whoever has been let in hears of it with the next poll, some seconds later.
      preAllocatedVUs: Math.ceil(form.most * SCALE) + 1000,
      maxVUs: 25000,
      stages: form.stages.map(([target, n]) => ({ target, duration: seconds(n) })),
      gracefulStop: seconds(ADMIT_FROM_S + ADMIT_FOR_S - 130 + 20),
    },
    tenant: {
      executor: 'constant-arrival-rate',
      exec: 'tenant',
      rate: 1,
      timeUnit: '1s',
      startTime: seconds(ADMIT_FROM_S),
      duration: seconds(ADMIT_FOR_S),
      preAllocatedVUs: 2,
      maxVUs: 10,
    },
  },
  summaryTrendStats: ['avg', 'med', 'p(95)', 'p(99)', 'max'],
  thresholds: { checks: ['rate==1'] },
};

export function person() {
  const visitor = http.post(`${URL}/v1/visitors`);
  if (!check(visitor, { 'an identity': (answer) => answer.status === 201 })) {
    return;
  }
  const joined = http.post(`${URL}/v1/rooms/${ROOM}/places`, null, bearer(visitor.json('visitor_token')));
  if (!check(joined, { 'a place': (answer) => answer.status === 201 })) {
    return;
  }
  registration.add(joined.timings.duration);
  registered.add(1);
  wait(joined.json());
}

// As the page does without a stream: it asks again when it was told to, until it is let in.
function wait(place) {
  let view = place;
  while (view.status !== 'admitted') {
    sleep(view.poll_after_ms / 1000);
    const answer = http.get(`${URL}/v1/rooms/${ROOM}/places/me`, bearer(place.place_token));
    if (!check(answer, { 'a poll': (polled) => polled.status === 200 })) {
      return;
    }
    poll.add(answer.timings.duration);
    view = answer.json();
  }
  letIn.add(1);
}

export function tenant() {
  const body = JSON.stringify({ count: ADMIT_AT_ONCE });
  const request = bearer(KEY);
  request.headers['Content-Type'] = 'application/json';
  const answer = http.post(`${URL}/v1/rooms/${ROOM}/admit`, body, request);
  if (check(answer, { 'an allow': (allowed) => allowed.status === 200 })) {
    allow.add(answer.timings.duration);
    admitted.add(answer.json('called'));
  }
}

function bearer(token) {
  return { headers: { Authorization: `Bearer ${token}` } };
}

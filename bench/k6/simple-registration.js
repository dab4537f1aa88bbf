// Registration alone, as the replaced waiting service was measured: people come ever faster, up to PEAK a second, each
// gets an identity and a place. Nobody is admitted. The server must run without a join limit.

import http from 'k6/http';
import { check } from 'k6';
import { Counter, Trend } from 'k6/metrics';

const URL = __ENV.URL || 'http://127.0.0.1:8080';
const ROOM = __ENV.ROOM || 'bench';
const PEAK = Number(__ENV.PEAK || 2000);
const SCALE = Number(__ENV.SCALE || 1);
const seconds = (n) => `${Math.max(1, Math.round(n * SCALE))}s`;

const registration = new Trend('registration', true);
const registered = new Counter('registered');

export const options = {
  scenarios: {
    people: {
      executor: 'ramping-arrival-rate',
      startRate: 0,
      timeUnit: '1s',
      preAllocatedVUs: 200,
      maxVUs: 2000,
      stages: [
        { target: PEAK, duration: seconds(60) },
        { target: PEAK, duration: seconds(30) },
      ],
    },
  },
  summaryTrendStats: ['avg', 'med', 'p(95)', 'p(99)', 'max'],
  thresholds: { checks: ['rate==1'] },
};

export default function () {
  const visitor = http.post(`${URL}/v1/visitors`);
  if (!check(visitor, { 'an identity': (answer) => answer.status === 201 })) {
    return;
  }
  const bearer = { headers: { Authorization: `Bearer ${visitor.json('visitor_token')}` } };
  const place = http.post(`${URL}/v1/rooms/${ROOM}/places`, null, bearer);
  if (check(place, { 'a place': (answer) => answer.status === 201 })) {
    registration.add(place.timings.duration);
    registered.add(1);
  }
}

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { routeAt, startHttp } from '../../../../test/support/bare-http.ts';
import Type from '../../../contract/json-schema.ts';
import { createStaticContent } from './static-content.ts';

it('200 static content varies by encoding and, where CORS is on, by origin', async () => {
  const content = await createStaticContent('{}');
  const route = routeAt('GET', '/static', Type.Object({}), () => content);
  const corsOrigin = ['https://a.example', 'https://b.example'];
  const { server } = await startHttp([route], { corsOrigin });
  const { statusCode, headers } = await server.inject({
    url: '/static',
    headers: { origin: 'https://a.example' },
  });
  assert.deepEqual([statusCode, headers['access-control-allow-origin']], [200, 'https://a.example']);
  assert.equal(String(headers.vary).toLowerCase(), 'origin, accept-encoding');
});

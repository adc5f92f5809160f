// Fetches URLs over HTTP/3 with impit, all at once: fetch.mjs BROWSER URL... Prints a line for each: status, length and SHA-256.
import { createHash } from 'node:crypto';
import { Impit } from 'impit';

const [browser, ...urls] = process.argv.slice(2);
const client = new Impit({ browser, http3: true, ignoreTlsErrors: true, timeout: 30_000 });
const lines = await Promise.all(urls.map(async url => {
  const response = await client.fetch(url, { forceHttp3: true });
  const content = await response.bytes();
  return `${response.status} ${content.length} ${createHash('sha256').update(content).digest('hex').toUpperCase()}`;
}));
console.log(lines.join('\n'));

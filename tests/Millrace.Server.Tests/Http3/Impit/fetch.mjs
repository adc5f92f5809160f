// Fetches URLs over HTTP/3 with impit, all at once: fetch.mjs BROWSER [--again SECONDS | --leave] URL...
// Prints a line for each: status, length and SHA-256. --again: once more after a time, in which the server closes the connection.
// --leave: aborts the first request, fetches the others, and ends while one more is in progress.
import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Impit } from 'impit';

const [browser, ...words] = process.argv.slice(2);
const client = new Impit({ browser, http3: true, ignoreTlsErrors: true, timeout: 60_000 });

async function fetchAll(urls) {
  const lines = await Promise.all(urls.map(async url => {
    const response = await client.fetch(url, { forceHttp3: true });
    const content = await response.bytes();
    return `${response.status} ${content.length} ${createHash('sha256').update(content).digest('hex').toUpperCase()}`;
  }));
  console.log(lines.join('\n'));
}

async function readFirstPiece(url, signal) {
  const response = await client.fetch(url, { forceHttp3: true, signal });
  await response.body.getReader().read();
}

if (words[0] === '--again') {
  await fetchAll(words.slice(2));
  await wait(words[1] * 1000);
  await fetchAll(words.slice(2));
} else if (words[0] === '--leave') {
  const abort = new AbortController();
  await readFirstPiece(words[1], abort.signal);
  abort.abort();
  await fetchAll(words.slice(2));
  await readFirstPiece(words[1]);
  process.exit(0);
} else {
  await fetchAll(words);
}

// Node's HTTP server as an upstream: what Kestrel does not send. Says where it listens in the words of the program millrace.
import { createServer } from 'node:http';

let connections = 0;
const server = createServer((request, response) => {
  const target = new URL(request.url, 'http://upstream').pathname;
  switch (target) {
    case '/api/trailers':
      response.writeHead(200, { 'Content-Type': 'text/plain', Trailer: 'X-Sum' });
      response.write('with trailers');
      response.addTrailers({ 'X-Sum': '42' });
      response.end();
      break;
    case '/api/hints':
      response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
      response.end('after hints');
      break;
    case '/api/close':
      response.useChunkedEncodingByDefault = false;
      response.writeHead(200, { Connection: 'close' });
      response.write('until ');
      response.end('the end');
      break;
    case '/api/echo': {
      const parts = [];
      request.on('data', part => parts.push(part));
      request.on('end', () => {
        const trailers = JSON.stringify(request.trailers);
        response.end(`${request.method} ${request.headers['transfer-encoding'] ?? request.headers['content-length']} ${Buffer.concat(parts)} ${trailers}`);
      });
      break;
    }
    case '/api/connection':
      response.end(String(request.socket.number));
      break;
    default:
      response.writeHead(404).end('nothing here');
  }
});
server.on('connection', socket => { socket.number = ++connections; });

// Idle connections end soon, to meet the next request.
server.on('request', (request, response) => {
  clearTimeout(request.socket.idle);
  response.on('finish', () => { request.socket.idle = setTimeout(() => request.socket.end(), 20); });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}/`);
  console.log('Serving with Node');
});

// In a chunk of its own, which the page loads by its hashed name.
export function listen(count, show) {
  const events = new EventSource(`/api/events/${count}`);
  events.onmessage = event => {
    show(event.data);
    if (Number(event.lastEventId) === count - 1) events.close();
  };
}

export function say(text, show) {
  const socket = new WebSocket(`${location.origin.replace("http", "ws")}/api/socket`);
  socket.onopen = () => socket.send(text);
  socket.onmessage = message => {
    show(message.data);
    socket.close(1000);
  };
}

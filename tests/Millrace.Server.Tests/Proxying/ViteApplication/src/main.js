import "./style.css";

const show = (id, text) => { document.getElementById(id).textContent = text; };

// The application answers with what it has got: a line, the fields, and the length and hash of the body.
const answer = await (await fetch("/api/echo?from=vite", { method: "POST", body: "wheat" })).text();
show("request", answer.split("\n")[0]);
show("sum", answer.split("\n").at(-1));

const { listen, say } = await import("./live.js");
listen(3, text => {
  const item = document.createElement("li");
  item.textContent = text;
  document.getElementById("events").append(item);
});
say("rye", text => show("socket", text));

// The wheel turns with the sluice; the year of the river is drawn from data/river.json.

const Svg = "http://www.w3.org/2000/svg";
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

turnWheel();
drawYear();

function turnWheel() {
  const gate = document.querySelector("#gate");
  if (!gate) {
    return;
  }

  const wheel = document.querySelector(".wheel .turning");
  const turning = wheel.animate(
    [{ transform: "rotate(0deg)" }, { transform: "rotate(360deg)" }],
    { duration: 60_000, iterations: Infinity },
  );

  const follow = () => {
    const turnsPerMinute = gate.valueAsNumber / 10;
    turning.updatePlaybackRate(stillness.matches ? 0 : turnsPerMinute);
    document.querySelector("#turns").value = `${turnsPerMinute.toFixed(1)} turns a minute`;
    // A turn moves the runner stone seventeen times, which grinds about 310 grams.
    document.querySelector("#flour").value = `${Math.round(turnsPerMinute * 60 * 0.31)} kg of flour an hour`;
  };
  gate.addEventListener("input", follow);
  stillness.addEventListener("change", follow);
  follow();
}

async function drawYear() {
  const chart = document.querySelector("#year");
  if (!chart) {
    return;
  }

  const response = await fetch("data/river.json");
  if (!response.ok) {
    chart.textContent = "The river's figures could not be read.";
    return;
  }

  const { leastForGrinding, months } = await response.json();
  const width = 720;
  const height = 240;
  const most = Math.max(...months.map((month) => month.flow));
  const toY = (flow) => height - (flow / most) * (height - 24);
  const step = width / months.length;

  const picture = draw("svg", { viewBox: `0 0 ${width} ${height + 30}`, role: "img", "aria-label": describe(months, leastForGrinding) });
  months.forEach(({ flow }, index) => {
    picture.append(draw("rect", {
      x: index * step + 7, y: toY(flow), width: step - 14, height: height - toY(flow), rx: 2,
      class: flow < leastForGrinding ? "dry" : "wet",
    }));
  });
  const least = toY(leastForGrinding);
  picture.append(draw("line", { x1: 0, x2: width, y1: least, y2: least }));
  months.forEach(({ name, flow }, index) => {
    const middle = (index + 0.5) * step;
    picture.append(
      draw("text", { x: middle, y: toY(flow) - 7 }, flow.toFixed(1)),
      draw("text", { x: middle, y: height + 22 }, name),
    );
  });
  chart.replaceChildren(picture);
}

function describe(months, least) {
  const dry = months.filter((month) => month.flow < least).map((month) => month.name);
  return `Monthly flow of the Alder. Too little to grind in ${dry.join(", ")}.`;
}

function draw(name, attributes, text) {
  const element = document.createElementNS(Svg, name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }

  element.textContent = text ?? "";
  return element;
}

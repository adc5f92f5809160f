export const wheels = [
  { name: "overshot", turns: 9, text: "Water falls on it from above and leaves it below: the best use of a high head." },
  { name: "breast", turns: 6, text: "Water meets it at the height of its axle, where the fall is too low for more." },
  { name: "undershot", turns: 4, text: "The stream runs beneath it: little is used, and little is needed to build it." },
];

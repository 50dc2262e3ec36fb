// For browsers that are too old for wait.js, or could not load it: go to the door every 20 seconds, as the page does
// without JavaScript. Written in ECMAScript 3, so that every browser can parse it.
setTimeout(function () {
  if (!document.documentElement.getAttribute("data-state")) location.replace("../beekeeper");
}, 20000);

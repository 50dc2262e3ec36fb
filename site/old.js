setTimeout(function () {
  if (!document.prerendering && !document.documentElement.getAttribute("data-state")) location.replace("../beekeeper");
}, 10000 + 20000 * Math.random());

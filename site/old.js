setTimeout(function () {
  if (!document.documentElement.getAttribute("data-state")) location.replace("../beekeeper");
}, 20000);

// For browsers that cannot run the page's program, or did not get it: ask at the door every now and then, as the
// page does without JavaScript. Written so that every browser can read it.
setTimeout(function () {
  if (!document.documentElement.getAttribute("data-state")) location.replace("../beekeeper");
}, 20000);

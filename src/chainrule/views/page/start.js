performance.mark("begin");
draw(JSON.parse(document.getElementById("view").textContent), document.getElementById("root"));
performance.measure("draw", "begin");

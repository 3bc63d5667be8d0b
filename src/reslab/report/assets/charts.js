// Charts, drawn by plotly in the colours of the page: those in view at once, the others when the browser is idle, so
// that a page that is printed or photographed whole has them all. Legends are buttons of our own.
"use strict";
{
  const plotly = document.currentScript.dataset.plotly;
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const coarse = matchMedia("(pointer: coarse)");
  const SHADES = 7;
  const drawn = new Set();

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const shade = (number) => colour(`shade-${number % SHADES}`);
  const faint = (hex, part) => hex + Math.round(255 * part).toString(16).padStart(2, "0");
  const channels = (hex) => [1, 3, 5].map((first) => parseInt(hex.slice(first, first + 2), 16));
  function mix(hex, part) {
    const paper = channels(colour("paper"));
    return `rgb(${channels(hex).map((value, i) => Math.round(part * value + (1 - part) * paper[i])).join(",")})`;
  }
  // plotly reads a little HTML in texts; names are names.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function layout(changes) {
    const axis = {
      gridcolor: colour("rule"), linecolor: colour("muted"), zeroline: false, showline: true, ticks: "outside",
      tickcolor: colour("muted"), ticklen: 4, automargin: true, fixedrange: coarse.matches,
    };
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("muted") },
      margin: { l: 44, r: 8, t: 8, b: 40 }, hovermode: "x unified", dragmode: coarse.matches ? false : "zoom",
      hoverlabel: { bgcolor: colour("paper"), bordercolor: colour("rule"), font: { color: colour("ink"), size: 12 } },
      ...changes,
      xaxis: { ...axis, showgrid: false, ...changes.xaxis },
      yaxis: { ...axis, ...changes.yaxis },
    };
  }

  const iterations = (unit) => (unit === 1 ? "iterations" : "iterations (1e4)");
  const rises = (x, unit) => x.map((step) => step / unit);

  // A line with, where seeds differ, a faint band of one standard deviation.
  function line(series, part, unit, style) {
    const x = rises(series.x, unit);
    const mean = series[part];
    const std = series[`${part}Std`] ?? [];
    const traces = [];
    const known = mean.map((_, i) => i).filter((i) => mean[i] != null && std[i] != null);
    if (known.length) {
      traces.push({
        x: [...known.map((i) => x[i]), ...known.map((i) => x[i]).reverse()],
        y: [...known.map((i) => mean[i] + std[i]), ...known.map((i) => Math.max(0, mean[i] - std[i])).reverse()],
        fill: "toself", fillcolor: faint(shade(series.shade), 0.13), line: { width: 0 }, mode: "lines", hoverinfo: "skip",
      });
    }
    const words = part === "train" ? "training" : "test";
    const mode = x.length > 1 ? "lines" : "markers"; // a line through one point is not seen
    const marker = { color: shade(series.shade), symbol: part === "train" ? "circle-open" : "circle", size: 8 };
    traces.push({
      x, y: mean, mode, marker, name: `${plain(series.name)}, ${words}`, line: { color: shade(series.shade), ...style },
      hovertemplate: "%{y:.2f}" + (std.some((value) => value != null) ? " ± %{customdata:.2f}" : ""), customdata: std,
    });
    return traces;
  }

  const TRAIN = { width: 1.3, dash: "5px,3px" };
  const TEST = { width: 2.6 };
  const both = (series, unit) => [...line(series, "train", unit, TRAIN), ...line(series, "test", unit, TEST)];
  const drops = (plot) =>
    (plot.drops ?? []).map((step) => ({
      type: "line", x0: step / plot.unit, x1: step / plot.unit, y0: 0, y1: 1, yref: "paper",
      line: { color: colour("muted"), width: 1, dash: "dot" },
    }));

  // The axis reaches what the networks shown end at, in all panels that share it; how they start may leave it.
  function top(plot) {
    const shown = Object.values(plots).filter((other) => other.share === plot.share).flatMap(visible);
    const ceiling = Math.max(1, ...shown.map((series) => series.ceiling));
    return Math.min(plot.axis.most ?? Infinity, 1.12 * ceiling);
  }

  const depths = (plot) => [...new Set(plot.series.flatMap((series) => series.x))].sort((one, other) => one - other);
  const CELLS = { type: "category", showgrid: false, showline: false, ticklen: 6, tickcolor: "rgba(0,0,0,0)" };

  const kinds = {
    curves: (plot) => [
      visible(plot).flatMap((series) => both(series, plot.unit)),
      layout({
        xaxis: { title: { text: iterations(plot.unit) }, rangemode: "tozero" },
        yaxis: { title: { text: plot.axis.words }, range: [0, top(plot)] }, shapes: drops(plot),
      }),
    ],
    losses: (plot) => [
      visible(plot).flatMap((series) => both(series, plot.unit)),
      layout({
        xaxis: { title: { text: iterations(plot.unit) }, rangemode: "tozero" },
        yaxis: { title: { text: "loss" }, rangemode: "tozero" }, shapes: drops(plot),
      }),
    ],
    depth: (plot) => [
      visible(plot).flatMap((series) =>
        [["train", TRAIN, "circle-open"], ["test", TEST, "circle"]].map(([part, style, symbol]) => ({
          x: series.x.map(String), y: series[part], mode: "lines+markers", name: `${plain(series.name)}, ${part === "train" ? "training" : "test"}`,
          line: { color: shade(series.shade), ...style }, marker: { symbol, size: 7 }, hovertemplate: "%{y:.2f}",
          error_y: { array: series[`${part}Std`].map((std) => std ?? 0), thickness: 1, width: 3, visible: series[`${part}Std`].some((std) => std != null) },
        })),
      ),
      layout({
        // Side by side: on a scale of layers, 20 to 110 would shrink to nothing beside 1202.
        xaxis: { title: { text: "layers" }, type: "category", categoryarray: depths(plot).map(String), tickvals: depths(plot).map(String) },
        yaxis: { title: { text: plot.axis.words }, range: [0, top(plot)] },
      }),
    ],
    findings: (plot, view) => [
      visible(plot).flatMap((series) => {
        const layers = series[view];
        const x = layers.map((_, i) => i + 1);
        const digits = plot.own[view]?.log ? ".3g" : ".3f";
        return [
          {
            x: [...x, ...[...x].reverse()], y: [...layers.map((layer) => layer[3]), ...layers.map((layer) => layer[2]).reverse()],
            fill: "toself", fillcolor: faint(shade(series.shade), 0.18), line: { width: 0 }, mode: "lines", hoverinfo: "skip",
          },
          {
            x, y: layers.map((layer) => layer[1]), mode: "lines+markers", name: plain(series.name),
            line: { color: shade(series.shade), width: 1.8, dash: series.plain ? "5px,3px" : "solid" },
            marker: { size: 4, symbol: series.plain ? "circle-open" : "circle" },
            customdata: layers.map((layer) => [plain(layer[0]), layer[2], layer[3]]),
            hovertemplate: `%{y:${digits}} [%{customdata[1]:${digits}}, %{customdata[2]:${digits}}] %{customdata[0]}`,
          },
        ];
      }),
      layout({
        xaxis: { title: { text: plot.views[view] } },
        yaxis: { title: { text: (plot.own[view] ?? plot.axis).words }, type: plot.own[view]?.log ? "log" : "linear", exponentformat: "power" },
      }),
    ],
    classes: (plot, _, room, width) => [
      [heat({
        x: plot.classes.map(plain), y: folded(plot, width).map((lines) => lines.map(plain).join("<br>")), z: plot.errors, shade: 1, most: 5,
        text: plot.errors.map((row) => row.map((error) => (room < 20 || error === null ? "" : error.toFixed(room < 38 ? 0 : 1)))),
        hovertemplate: "%{y}, %{x}: %{z:.2f} %<extra></extra>",
      })],
      layout({
        hovermode: "closest", margin: { l: 80, r: 8, t: 8, b: 40 },
        xaxis: CELLS, yaxis: { ...CELLS, autorange: "reversed" },
      }),
    ],
    matrix: (plot, _, room) => {
      const names = plot.classes.map(plain);
      const images = Math.max(...plot.counts.map((row) => row.reduce((sum, count) => sum + count, 0)));
      const part = (keep) => plot.counts.map((row, truth) => row.map((count, guess) => (keep(truth, guess) ? count : null)));
      const matrices = [part((truth, guess) => truth === guess), part((truth, guess) => truth !== guess)];
      return [
        matrices.map((z, wrong) => heat({
          x: names, y: names, z, shade: wrong, most: wrong ? images / 8 : images,
          text: z.map((row) => row.map((count) => (room < 20 ? "" : count || ""))),
          hovertemplate: "%{y} predicted as %{x}: %{z}<extra></extra>",
        })),
        layout({
          hovermode: "closest", margin: { l: 60, r: 4, t: 4, b: 50 },
          xaxis: { ...CELLS, title: { text: "guess" } }, yaxis: { ...CELLS, title: { text: "truth", standoff: 12 }, autorange: "reversed" },
        }),
      ];
    },
    contours: (plot) => {
      const z = plot.z.map((row) => row.map((value) => height(plot, value)));
      const { ticks, words } = rungs(plot);
      const [path, ends] = [plot.path, { x: [0], y: [0], text: ["the weights"] }];
      const spots = (places, rest) => ({
        type: "scatter", x: places.x, y: places.y, text: places.text, hovertemplate: "%{text}<extra></extra>", ...rest,
      });
      return [
        [
          {
            type: "contour", x: plot.x, y: plot.y, z, text: plot.z, ncontours: 24, connectgaps: false,
            colorscale: slope(), line: { width: 0.6, color: faint(colour("ink"), 0.35) },
            hovertemplate: `${plain(plot.words)} %{text:.4g} at %{x:.3g}, %{y:.3g}<extra></extra>`,
            colorbar: { tickvals: ticks, ticktext: words, thickness: 12, outlinewidth: 0 },
          },
          ...(path ? [spots(path, { mode: "lines+markers", line: { color: shade(1), width: 1.5 }, marker: { size: 6, color: shade(1) } })] : []),
          spots(ends, { mode: "markers", marker: { symbol: "cross-thin", size: 11, line: { width: 1.8, color: colour("ink") } } }),
        ],
        layout({
          hovermode: "closest", xaxis: { title: { text: plot.axes[0] } }, yaxis: { title: { text: plot.axes[1] }, showgrid: false },
        }),
      ];
    },
    surface: (plot) => {
      const z = plot.z.map((row) => row.map((value) => height(plot, value)));
      const { ticks, words } = rungs(plot);
      const known = z.flat().filter((value) => value != null);
      const [low, high, path] = [Math.min(...known), Math.max(...known), plot.path];
      const axis = (text) => ({ title: { text }, color: colour("muted"), gridcolor: colour("rule"), showbackground: false });
      const along = (values, rest) => ({
        type: "scatter3d", x: path.x, y: path.y, z: values.map((value) => height(plot, value)), text: path.text,
        hovertemplate: "%{text}<extra></extra>", ...rest,
      });
      return [
        [
          {
            type: "surface", x: plot.x, y: plot.y, z, text: plot.z, colorscale: slope(), showscale: false,
            hovertemplate: `${plain(plot.words)} %{text:.4g} at %{x:.3g}, %{y:.3g}<extra></extra>`,
            lighting: { ambient: 0.85, diffuse: 0.4, specular: 0.05 },
            contours: { z: { show: true, width: 1, color: faint(colour("ink"), 0.5), start: low, end: high, size: (high - low) / 20 || 1 } },
          },
          ...(path ? [
            along(path.projected, { mode: "lines", line: { color: shade(1), width: 5 } }),
            along(path.true, { mode: "markers", marker: { color: shade(1), size: 3.5 } }),
          ] : []),
        ],
        layout({
          hovermode: "closest", margin: { l: 0, r: 0, t: 0, b: 0 },
          scene: {
            aspectmode: "cube", xaxis: axis(plot.axes[0]), yaxis: axis(plot.axes[1]), zaxis: { ...axis(plain(plot.words)), tickvals: ticks, ticktext: words },
            camera: { eye: { x: 1.4, y: -1.5, z: 1.0 } },
          },
        }),
      ];
    },
    // One line, with the band around it and other lines beside it, where there are any: these have a legend of plotly's.
    profile: (plot) => {
      const band = plot.band && {
        x: [...plot.x, ...[...plot.x].reverse()], y: [...plot.band.high, ...[...plot.band.low].reverse()], fill: "toself",
        fillcolor: faint(shade(0), 0.18), line: { width: 0 }, mode: "lines", hoverinfo: "skip", showlegend: false,
      };
      const beside = (plot.lines ?? []).map((one) => ({
        x: one.x, y: one.y, mode: "lines", name: plain(one.name), hovertemplate: "%{fullData.name}: %{y:.4g} at %{x:.4g}<extra></extra>",
        line: { color: shade(one.shade), width: 1.8, dash: one.dashed ? "5px,3px" : "solid" }, showlegend: !one.again,
      }));
      return [
        [...(band ? [band] : []), {
          x: plot.x, y: plot.y, mode: plot.mode ?? "lines+markers", line: { color: shade(0), width: 1.8 }, marker: { size: 4, color: shade(0) },
          name: plain(plot.name ?? plot.words), hovertemplate: "%{y:.4g} at %{x:.4g}<extra></extra>",
        }, ...beside],
        layout({
          hovermode: "closest", showlegend: beside.length > 0, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
          margin: { l: 44, r: 8, t: beside.length ? 44 : 8, b: 40 }, xaxis: { title: { text: plain(plot.axes[0]) } },
          yaxis: { title: { text: plain(plot.words) }, type: plot.log ? "log" : "linear", exponentformat: "power" },
        }),
      ];
    },
    precision: (plot) => {
      const x = plot.mean.map((_, i) => i / (plot.mean.length - 1));
      const curve = (name, y, line) => ({
        x, y, mode: "lines", name: plain(name), line, hovertemplate: "%{fullData.name}: precision %{y:.2f} at recall %{x:.2f}<extra></extra>",
      });
      return [
        [
          ...plot.lines.map((one) => curve(one.name, one.precision, { color: faint(shade(0), 0.65), width: 1 })),
          curve("mean", plot.mean, { color: shade(1), ...TEST }),
        ],
        layout({
          hovermode: "closest", xaxis: { title: { text: "recall" }, range: [0, 1.01] },
          yaxis: { title: { text: "precision" }, range: [0, 1.02] },
        }),
      ];
    },
  };

  // Heights of a surface: their logarithms where they span many powers, with marks that are read as they are.
  const height = (plot, value) => (value == null || !plot.log ? value : Math.log10(Math.max(value, Number.MIN_VALUE)));
  function rungs(plot) {
    if (!plot.log) return {};
    const known = plot.z.flat().filter((value) => value != null && value > 0);
    const [low, high] = [Math.log10(Math.min(...known)), Math.log10(Math.max(...known))];
    const every = Math.max(1, Math.ceil((high - low) / 6));
    const marks = [];
    for (let power = Math.floor(low); power <= high; power += every) {
      for (const digit of high - low < 2.5 ? [1, 2, 5] : [1]) marks.push(digit * 10 ** power);
    }
    const shown = marks.filter((mark) => Math.log10(mark) >= low && Math.log10(mark) <= high);
    return { ticks: shown.map(Math.log10), words: shown.map((mark) => (mark >= 1e5 || mark < 1e-3 ? mark.toExponential(0) : String(Number(mark.toPrecision(3))))) };
  }
  const slope = () => [0, 0.25, 0.5, 0.75, 1].map((part) => [part, mix(shade(0), 0.06 + 0.86 * part)]);

  // Cells in shades of one colour; `most` is what the full one stands for unless there is more.
  function heat({ z, shade: number, most, ...rest }) {
    const full = shade(number);
    return {
      type: "heatmap", z, ...rest, zmin: 0, zmax: Math.max(most, ...z.flat()), showscale: false, xgap: 1, ygap: 1,
      hoverongaps: false, texttemplate: "%{text}", textfont: { size: 11, color: colour("ink") },
      colorscale: [[0, colour("tint")], [0.0001, mix(full, 0.1)], [0.25, mix(full, 0.3)], [1, mix(full, 0.6)]],
    };
  }

  const visible = (plot) => (plot.series ?? []).filter((series) => !series.hidden);

  // The names of rows in lines: on a phone a word each, which leaves room for the cells.
  const NARROW = 640;
  const folded = (plot, width) => (plot.rows ?? []).map((name) => (width < NARROW ? name.split(" ") : [name]));
  const PIXELS_A_LETTER = 6.5;

  function roomOfCells(plot, width) {
    const letters = folded(plot, width).flat().map((line) => line.length);
    return (width - Math.max(80, PIXELS_A_LETTER * Math.max(0, ...letters))) / plot.classes.length;
  }

  function draw(plot) {
    for (const canvas of plot.element.querySelectorAll(".canvas")) {
      const room = plot.classes ? roomOfCells(plot, canvas.clientWidth) : 0;
      const [traces, shape] = kinds[plot.kind](plot, canvas.dataset.view, room, canvas.clientWidth);
      Plotly.react(canvas, traces, shape, { displayModeBar: false, responsive: true, doubleClick: "reset" });
    }
    for (const button of plot.element.querySelectorAll(".legend button[aria-pressed]")) {
      button.setAttribute("aria-pressed", String(!plot.series[Number(button.dataset.index)].hidden));
    }
  }

  const drawShared = (plot) => [...drawn].filter((other) => other.share === plot.share).forEach(draw);

  function addButton(list, words, act) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", act);
    item.append(button);
    list.append(item);
    return button;
  }

  function addLegend(plot) {
    const list = plot.element.querySelector(".legend");
    if (!list) return;
    plot.series.forEach((series, index) => {
      const toggle = () => {
        series.hidden = !series.hidden;
        drawShared(plot);
      };
      const seeds = series.seeds > 1 ? ` × ${series.seeds}` : "";
      const words = series.name + (series.state ? ` (${series.state})` : "") + seeds;
      const button = addButton(list, words, toggle);
      button.dataset.index = index;
      button.setAttribute("aria-pressed", String(!series.hidden));
      button.style.setProperty("--swatch", `var(--shade-${series.shade % SHADES})`);
      button.classList.toggle("plain", Boolean(series.plain));
      button.addEventListener("dblclick", () => {
        plot.series.forEach((other) => (other.hidden = other !== series));
        drawShared(plot);
      });
    });
    if (plot.series.some((series) => series.hidden)) {
      for (const [words, hidden] of [["all", false], ["none", true]]) {
        addButton(list, words, () => {
          plot.series.forEach((series) => (series.hidden = hidden));
          drawShared(plot);
        }).className = "all";
      }
    }
  }

  let loading;
  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = plotly;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
    return loading;
  }

  function begin(plot) {
    if (drawn.has(plot)) return;
    plot.element.querySelectorAll(".canvas").forEach((canvas) => observer.unobserve(canvas));
    drawn.add(plot);
    draw(plot);
  }

  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((each) => each.isIntersecting)) {
      load().then(() => begin(plots[entry.target.closest("[data-plot]").dataset.plot]));
    }
  }, { rootMargin: "400px" });

  const placed = () => Object.values(plots).filter((plot) => plot.element);
  const whenIdle = window.requestIdleCallback ?? ((act) => setTimeout(act, 50)); // Safari has none

  // One chart at a time, so that the page keeps answering.
  function drawTheRest() {
    const next = placed().find((plot) => !drawn.has(plot));
    if (!next) return;
    begin(next);
    whenIdle(drawTheRest);
  }

  for (const element of document.querySelectorAll("[data-plot]")) {
    const plot = plots[element.dataset.plot];
    plot.element = element;
    if (plot.kind === "classes") {
      const canvas = element.querySelector(".canvas");
      const lines = Math.max(...folded(plot, canvas.clientWidth).map((name) => name.length));
      canvas.style.height = `${4.5 + (1.1 + 0.8 * lines) * plot.rows.length}rem`;
    }
    if (plot.series) addLegend(plot);
    element.querySelectorAll(".canvas").forEach((canvas) => observer.observe(canvas));
  }
  addEventListener("load", () => whenIdle(() => load().then(drawTheRest)));
  addEventListener("beforeprint", () => window.Plotly && placed().forEach(begin));
  dark.addEventListener("change", () => drawn.forEach(draw));
}

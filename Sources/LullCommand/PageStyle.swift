// SPDX-License-Identifier: Apache-2.0

/// How the page looks and moves.
enum PageStyle {
  static let css = """
    :root {
      color-scheme: light dark;
      --paper: #fbfbfa; --card: #ffffff; --line: #e4e4e0; --ink: #1d1f22; --faint: #6a6f76;
      --on: #2f9e6b; --late: #d62f3a; --wait: #d62f3a33; --work: #e3a93b; --input: #7a5cc9;
      --window: #1d1f220f;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --paper: #131518; --card: #1b1e22; --line: #2d3137; --ink: #e9eaec; --faint: #989ea7;
        --on: #43c58a; --late: #ff5a63; --wait: #ff5a6340; --work: #d9a441; --input: #a78bfa;
        --window: #ffffff14;
      }
    }
    * { box-sizing: border-box; margin: 0; }
    body {
      background: var(--paper); color: var(--ink);
      font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
    }
    main { max-width: 1320px; margin: 0 auto; padding: 28px 32px 40px; }
    h1 { font-size: 26px; line-height: 1.2; letter-spacing: -0.01em; margin-bottom: 8px; }
    header p, .hint, footer { color: var(--faint); max-width: 100ch; }
    .legend {
      display: flex; flex-wrap: wrap; gap: 4px 22px; list-style: none; padding: 0;
      margin: 16px 0 12px; font-size: 13.5px;
    }
    .legend i {
      display: inline-block; width: 10px; height: 14px; margin-right: 7px; vertical-align: -2px;
      border-radius: 2px;
    }
    .legend .wait { width: 20px; }
    .legend .input { height: 6px; width: 14px; vertical-align: 2px; }
    i.on { background: var(--on); } i.late { background: var(--late); width: 4px; }
    i.wait { background: var(--wait); } i.work { background: var(--work); }
    i.input { background: var(--input); }
    .row {
      background: var(--card); border: 1px solid var(--line); border-radius: 10px;
      padding: 10px 16px 12px; margin-bottom: 10px;
    }
    .head { display: flex; align-items: baseline; gap: 12px; margin-bottom: 6px; }
    .head h2 { font-size: 16.5px; white-space: nowrap; }
    .head p { color: var(--faint); font-size: 13.5px; flex: 1; }
    dl {
      display: grid; grid-template-columns: 104px 100px 128px 104px; text-align: right;
      font-variant-numeric: tabular-nums;
    }
    dt { color: var(--faint); font-size: 11.5px; line-height: 1.2; }
    dd { font-size: 16.5px; font-weight: 600; line-height: 1.25; white-space: nowrap; }
    dd small { font-weight: 400; font-size: 12px; color: var(--faint); }
    dd.bad { color: var(--late); }
    svg { display: block; width: 100%; }
    svg.run { height: 44px; cursor: ew-resize; touch-action: none; }
    svg.close {
      height: 52px; margin-top: 6px; border-top: 1px solid var(--line); padding-top: 6px;
    }
    .window { fill: var(--window); }
    .on { fill: var(--on); } .late { fill: var(--late); } .wait { fill: var(--wait); }
    .work { fill: var(--work); } .input { fill: var(--input); }
    .shown { fill: var(--late); fill-opacity: 0.72; }
    /* A tick is to be seen at any scale. */
    .run .late path { stroke: var(--late); stroke-width: 1px; vector-effect: non-scaling-stroke; }
    td.bad { color: var(--late); font-weight: 600; }
    .close .work path { stroke: var(--card); stroke-width: 0.35; }
    .run .work { fill-opacity: 0.75; }
    .given { fill: none; stroke: var(--ink); stroke-width: 1px; stroke-dasharray: 3 3;
      vector-effect: non-scaling-stroke; }
    i.given { border-left: 1px dashed var(--ink); border-radius: 0; width: 4px; }
    .axis {
      position: relative; height: 20px; margin: -2px 17px 0; color: var(--faint); font-size: 12px;
    }
    .axis span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
    .hint { margin: 14px 0 20px; font-size: 13.5px; }
    .script { display: none; }
    .wide { overflow-x: auto; margin-bottom: 18px; }
    table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
    th, td { text-align: right; padding: 5px 9px; border-bottom: 1px solid var(--line); }
    thead th {
      color: var(--faint); font-weight: 500; font-size: 12px; line-height: 1.25;
      vertical-align: bottom;
    }
    td.absent { text-align: left; color: var(--faint); }
    th:first-child { text-align: left; padding-left: 0; white-space: nowrap; }
    footer { font-size: 13px; } footer ul { padding-left: 18px; margin-top: 8px; }
    @media (max-width: 900px) {
      main { padding: 18px 14px; } .head { flex-wrap: wrap; }
      .head p { flex-basis: 100%; order: 3; }
      dl { grid-template-columns: repeat(2, 104px); gap: 6px 16px; }
    }
    """

  /// The close-ups show what is under the pointer, in all rows at once.
  static let script = """
    for (const e of document.querySelectorAll('.script')) e.style.display = 'inline';
    const runs = [...document.querySelectorAll('svg.run')];
    const closeUps = [...document.querySelectorAll('svg.close')];
    function show(middle) {
      for (const [index, run] of runs.entries()) {
        const view = closeUps[index].viewBox.baseVal;
        const start = Math.min(Math.max(middle - view.width / 2, 0),
          Math.max(0, run.viewBox.baseVal.width - view.width));
        view.x = start;
        run.querySelector('.window').x.baseVal.value = start;
      }
    }
    for (const run of runs) {
      run.addEventListener('pointermove', event => {
        const box = run.getBoundingClientRect();
        show((event.clientX - box.left) / box.width * run.viewBox.baseVal.width);
      });
    }
    """
}

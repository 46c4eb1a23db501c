// SPDX-License-Identifier: Apache-2.0
// The style of a report. Colours of data: Okabe and Ito, which colour-blind people can tell apart.
#include "report/report_page.hpp"

namespace hopscotch {

char const* const k_page_style = R"css(
:root{--bg:#fff;--card:#f6f7f9;--ink:#1a1d21;--soft:#555c66;--line:#d8dce2;--grid:#e9ecf0;--link:#00568c;--bad:#a63c00;
--c1:#0072b2;--c2:#d98200;--c3:#009e73;--c4:#cc79a7;--c5:#b9c0c9;--c6:#56b4e9;--c7:#8a6d00;--back:#eef0f3;--faint:#8a929c}
@media (prefers-color-scheme:dark){:root{--bg:#15181c;--card:#1e2227;--ink:#e8eaed;--soft:#a9b1bc;--line:#3a4048;
--grid:#2a2f36;--link:#7cc4f0;--bad:#ff9b6a;--c1:#4ba3db;--c2:#f0a830;--c3:#2fc79b;--c4:#dd94bb;--c5:#565e69;--c6:#8fd0f5;
--c7:#d8c04a;--back:#23282e;--faint:#7b8490}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:3.2rem}
body{margin:0;background:var(--bg);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,Ubuntu,sans-serif}
main{max-width:1060px;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:0 0 .75rem}
h3{font-size:1rem;margin:1.5rem 0 .5rem}
a{color:var(--link)}
section{margin:0 0 3rem}
.sub,.note,.cap,figcaption,footer{color:var(--soft);font-size:.875rem}
.sub{margin:0 0 1rem}
.badge{font-size:.8rem;font-weight:600;vertical-align:middle;padding:.15rem .6rem;border-radius:1rem;border:1px solid}
.badge.good{color:var(--link)}.badge.open{color:var(--bad)}
nav{position:sticky;top:0;z-index:2;background:var(--bg);border-bottom:1px solid var(--line);margin:0 0 1.5rem;
padding:.6rem 0;display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;white-space:nowrap;font-size:.875rem}
nav a{text-decoration:none}nav a:hover{text-decoration:underline}
.answer{font-size:1.2rem;line-height:1.45;margin:.5rem 0 .75rem;overflow-wrap:anywhere}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(112px,1fr));gap:.625rem;margin:1.25rem 0 0}
.tiles div{background:var(--card);border-radius:.5rem;padding:.7rem .75rem;display:flex;flex-direction:column}
.tiles dd{margin:0;white-space:nowrap;font-size:1.05rem;font-weight:600;font-variant-numeric:tabular-nums}
.tiles dt{color:var(--soft);font-size:.8rem}
figure{margin:0}figure+.scroll{margin-top:1rem}
figcaption,.cap{margin:.5rem 0 0}
.scroll{overflow-x:auto;max-width:100%}
svg{display:block;font:12px system-ui,-apple-system,"Segoe UI",Roboto,Ubuntu,sans-serif}
svg.wide{width:100%;min-width:700px;height:auto}
svg.small{width:100%;height:auto}svg.matrix{width:100%;max-width:640px;height:auto}
.pair{display:flex;flex-wrap:wrap;gap:0 3rem}
svg.spark{width:120px;height:16px}svg.bar{width:240px;height:14px;margin-top:.25rem}
svg.key{display:inline-block;width:12px;height:12px;margin-right:.4rem;vertical-align:-1px}
.multiples{display:grid;grid-template-columns:repeat(auto-fill,minmax(270px,1fr));gap:1rem 1.5rem}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:0 0 .35rem;color:var(--ink)}
text{fill:var(--ink)}
.tick{fill:var(--soft)}.inverse{fill:var(--bg)}.end{text-anchor:end}.mid{text-anchor:middle}.name{font-weight:600}
.warn{fill:var(--bad);
font-weight:600}
.halo{paint-order:stroke;fill:var(--ink);stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}
.axis,.rule{fill:none;stroke:var(--faint);stroke-width:1}.rule{stroke:var(--grid)}
.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}.f4{fill:var(--c4)}.f5{fill:var(--c5)}.f6{fill:var(--c6)}
.f7{fill:var(--c7)}.fgrey{fill:var(--c5)}.fback{fill:var(--back);stroke:var(--line)}.fink{fill:var(--ink)}
.idle{fill:var(--back)}
.hollow{fill:var(--bg);stroke:var(--faint);stroke-width:1.5}
.dot.f1{fill-opacity:.7}.dot.first{stroke:var(--bg);stroke-width:1}
.curve,.front,.best-line,.pline,.kin,.clone,.hops,.pause{fill:none;stroke-linejoin:round}
.curve{stroke:var(--c5);stroke-width:1.2;stroke-opacity:.8}.curve.faint{stroke-opacity:.45}
.front{stroke-width:2.4}.front.thin{stroke-width:1.5}.dashed{stroke-dasharray:4 3;stroke-opacity:.75}
.best-line{stroke:var(--c2);stroke-width:2}
.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}.s4{stroke:var(--c4)}.s5{stroke:var(--ink)}
.s6{stroke:var(--c6)}
.s7{stroke:var(--c7)}
.pline{stroke:var(--c5);stroke-width:1.2;stroke-opacity:.55}.pline.good{stroke:var(--c1);stroke-opacity:.75}
.pline.first{stroke:var(--c2);stroke-width:3;stroke-opacity:1}.pline.off{stroke-opacity:.06}
.kin{stroke:var(--c1);stroke-width:3}.clone{stroke:var(--faint);stroke-width:1.2}
.kin.first,.clone.first{stroke:var(--c2)}.kin.first{stroke-width:5}.clone.first{stroke-width:2.5}
.hops{stroke:var(--ink);stroke-width:1.3}.pause{stroke:var(--soft);stroke-dasharray:4 3}.lost{fill:var(--bad);
font-size:16px}
.brush{fill:transparent;cursor:crosshair;touch-action:none}.chosen{fill:var(--c2);fill-opacity:.35;pointer-events:none}
.marks *{vector-effect:non-scaling-stroke}.zoom{margin:.25rem 0}
svg .hi{stroke:var(--bad);stroke-opacity:1;stroke-width:3}svg circle.hi{fill:var(--bad)}svg rect.hi{stroke-width:1.5}
[data-t]{cursor:pointer}
svg .way{fill:none;stroke-opacity:0;pointer-events:none}svg .way.hi{stroke-opacity:1;stroke-width:1.5}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.35rem 1.1rem .35rem 0;border-bottom:1px solid var(--grid);vertical-align:top;
white-space:nowrap}
thead th{border-bottom:1px solid var(--line);color:var(--soft);font-weight:600;vertical-align:bottom}
.n{text-align:right}.facts td{white-space:normal;overflow-wrap:anywhere}.facts th{color:var(--soft);font-weight:500}
.facts td.n{text-align:left}
.sortable thead th{cursor:pointer}.sortable thead th[aria-sort]::after{content:" \2191"}
.sortable thead th[aria-sort=descending]::after{content:" \2193"}
tr.hi td{background:var(--card)}
.st.bad{color:var(--bad);font-weight:600}
.tools{margin:0 0 .5rem;font-size:.875rem;display:none}.js .tools{display:block}
.tools input{font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:.35rem;
padding:.25rem .5rem;
width:14rem;max-width:60%}
.shown{color:var(--soft);margin-left:.5rem}
.js tr.more:not(.open),tr.gone{display:none}
button{font:inherit;font-size:.875rem;color:var(--link);background:none;border:1px solid var(--line);border-radius:.35rem;
padding:.3rem .7rem;cursor:pointer}
.noscreen{display:none}.js .noscreen{display:inline}.js p.noscreen{display:block}
pre{background:var(--card);padding:.85rem 1rem;border-radius:.5rem;overflow-x:auto;font-size:.8125rem;line-height:1.5}
summary{cursor:pointer;font-weight:600;margin:1rem 0 .5rem}
details.run{border-top:1px solid var(--line);margin:0 0 1rem}
footer{border-top:1px solid var(--line);padding-top:1rem}
@media (max-width:600px){nav{flex-wrap:nowrap;overflow-x:auto}
main{padding:1.25rem .9rem 3rem}h1{font-size:1.4rem}.answer{font-size:1.05rem}
section{margin-bottom:2.25rem}}
@media print{:root{--bg:#fff;--card:#f6f7f9;--ink:#000;--soft:#444;--line:#bbb;--grid:#ddd;--link:#000;--bad:#a63c00;
--c1:#0072b2;
--c2:#d98200;--c3:#009e73;--c4:#cc79a7;--c5:#b0b6bf;--c6:#56b4e9;--c7:#8a6d00;--back:#eee;--faint:#888}nav,.js .tools,
.js .noscreen,.js p.noscreen{display:none}main{max-width:none;padding:0}body{font-size:11pt}.scroll{overflow:visible}
svg.wide{min-width:0}figure,.tiles,tr{break-inside:avoid}h2{break-after:avoid}
th,td{white-space:normal;padding-right:.5rem}table{font-size:8pt}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)css";

}  // namespace hopscotch

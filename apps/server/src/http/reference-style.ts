/** Quiet surfaces and one accent, light and dark; the list of operations stands beside on wide screens and above on narrow ones. */
export const referenceStyle = `
:root{color-scheme:light dark;--bg:#f7f8f9;--card:#fff;--line:#e2e5e9;--text:#14181d;--soft:#566070;--accent:#0b6e75;--code:#eef1f4;--get:#0b6e75;--post:#2f6b1f;--patch:#8a5a00;--delete:#b3401f}
@media (prefers-color-scheme:dark){:root{--bg:#0e1114;--card:#161a1f;--line:#272d35;--text:#eef1f4;--soft:#9ba6b4;--accent:#4cc3c9;--code:#20262d;--get:#4cc3c9;--post:#8fd07a;--patch:#e6b450;--delete:#f0835f}}
*{box-sizing:border-box}
html{scroll-padding-top:16px}
body{margin:0;display:grid;grid-template-columns:300px minmax(0,1fr);background:var(--bg);color:var(--text);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
a{color:var(--accent)}
a:focus-visible,summary:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-999px}.skip:focus{left:16px;top:8px;z-index:1;background:var(--card);padding:8px 12px}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:24px 12px 40px 24px;border-right:1px solid var(--line)}
.brand{margin:0 0 16px;font-weight:700;font-size:17px}.brand span{color:var(--soft);font-weight:500;font-size:13px}
nav h2{margin:20px 0 4px;font-size:12px;font-weight:600;color:var(--soft)}
nav ul{list-style:none;margin:0;padding:0}
nav li a{display:flex;gap:8px;align-items:baseline;padding:3px 6px;border-radius:6px;color:var(--text);text-decoration:none;font-size:13px}
nav li a:hover{background:var(--code)}
nav li span{overflow-wrap:anywhere}
b.GET,b.POST,b.PUT,b.PATCH,b.DELETE{flex:none;width:52px;font:600 11px/1.6 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color:var(--get)}
b.POST{color:var(--post)}b.PUT,b.PATCH{color:var(--patch)}b.DELETE{color:var(--delete)}
main{max-width:960px;padding:32px clamp(16px,4vw,56px) 96px}
h1{font-size:32px;letter-spacing:-.02em;margin:0 0 12px}
h2.group{margin:56px 0 16px;font-size:22px;letter-spacing:-.01em}
.operation{margin:0 0 20px;padding:20px 24px;background:var(--card);border:1px solid var(--line);border-radius:12px}
.operation:target{border-color:var(--accent)}
.operation h3{margin:0;font-size:17px}
.line{margin:8px 0;display:flex;gap:8px;align-items:baseline}.line code{background:none;padding:0;overflow-wrap:anywhere}
.access,.problems,.media{color:var(--soft);font-size:13.5px}
.problems a{margin-right:6px}
h4{margin:20px 0 6px;font-size:13px;color:var(--soft);font-weight:600}
.answer p{margin:6px 0}
code{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);padding:1px 5px;border-radius:5px;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px}
td{padding:6px 12px 6px 0;border-top:1px solid var(--line);vertical-align:top}
td:first-child{white-space:nowrap}
.required{font-weight:600;font-size:12px;color:var(--patch)}
summary{cursor:pointer}
main>details{margin:0 0 8px;padding:10px 16px;background:var(--card);border:1px solid var(--line);border-radius:10px}
main>details>summary{font-weight:600}
main>details:target{border-color:var(--accent)}
@media (max-width:860px){body{display:block}nav{position:static;height:auto;max-height:40vh;border-right:0;border-bottom:1px solid var(--line)}.operation{padding:16px}}
@media print{nav{display:none}body{display:block}}
`

/**
 * Quiet surfaces, strong type, one accent; light and dark; from 360 px on. The log is laid out from below, so that it
 * opens at its last line without a script.
 */
export const pageStyle = `
:root{color-scheme:light dark;--bg:#f7f8f9;--card:#fff;--line:#e2e5e9;--text:#14181d;--soft:#566070;--accent:#0b6e75;--onaccent:#fff;--fault:#b3401f;--log:#f2f4f6}
@media (prefers-color-scheme:dark){:root{--bg:#0e1114;--card:#161a1f;--line:#272d35;--text:#eef1f4;--soft:#9ba6b4;--accent:#4cc3c9;--onaccent:#062427;--fault:#f0835f;--log:#0f1317}}
*{box-sizing:border-box;margin:0}
body{min-height:100vh;min-height:100dvh;display:flex;flex-direction:column;align-items:center;padding:clamp(16px,5vw,40px);background:var(--bg);color:var(--text);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;-webkit-font-smoothing:antialiased;text-rendering:optimizeLegibility}
main{width:100%;max-width:600px;margin:auto 0;padding:clamp(24px,6vw,44px);background:var(--card);border:1px solid var(--line);border-radius:16px}
.state{display:flex;flex-wrap:wrap;align-items:center;gap:10px;font-size:13px;font-weight:600;color:var(--soft)}
.slug{margin-left:auto;font:500 13px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.lamp{width:10px;height:10px;border-radius:50%;border:2px solid var(--soft)}
.busy .lamp{border-color:var(--accent);background:var(--accent);animation:breathe 1.4s ease-in-out infinite}
.fault .lamp{border-color:var(--fault);background:var(--fault)}
@keyframes breathe{50%{opacity:.25}}
h1{margin-top:20px;font-size:clamp(26px,6.4vw,36px);line-height:1.12;font-weight:700;letter-spacing:-.022em;overflow-wrap:anywhere;text-wrap:balance}
.detail{margin-top:14px;font-size:17px;overflow-wrap:anywhere;white-space:pre-line}
.hint{margin-top:12px;color:var(--soft);overflow-wrap:anywhere}
section{margin-top:24px;margin-bottom:20px}
h2{font-size:13px;font-weight:600;color:var(--soft);margin-bottom:8px}
pre{display:flex;flex-direction:column-reverse;max-height:38vh;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;padding:14px 16px;background:var(--log);border:1px solid var(--line);border-radius:10px;font:12.5px/1.6 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;tab-size:2}
.action{margin-top:28px}
form{margin:24px 0 16px;display:flex;flex-wrap:wrap;gap:12px;align-items:end}
label{flex:1 1 220px;font-size:13px;font-weight:600;color:var(--soft)}
input[type=password]{display:block;width:100%;margin-top:6px;padding:11px 14px;font:inherit;font-size:16px;font-weight:400;color:var(--text);background:var(--log);border:1px solid var(--soft);border-radius:10px}
button{padding:12px 20px;border:0;border-radius:10px;background:var(--accent);color:var(--onaccent);font:inherit;font-weight:600;cursor:pointer}
input:focus-visible,button:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
a{display:inline-block;padding:11px 18px;border-radius:10px;background:var(--accent);color:var(--onaccent);font-weight:600;text-decoration:none}
a:hover{filter:brightness(1.08)}
a:focus-visible,pre:focus-visible{outline:3px solid var(--accent);outline-offset:3px}
footer{display:flex;align-items:center;gap:8px;padding-top:28px;font-size:13px;font-weight:600;color:var(--soft)}
footer svg{color:var(--accent)}
pre code{font:inherit}
footer code{font:12px/1 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;padding-left:10px;margin-left:2px;border-left:1px solid var(--line);font-weight:400}
@media (prefers-reduced-motion:reduce){.busy .lamp{animation:none}}
`

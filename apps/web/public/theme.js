// Before the first paint, so that nobody sees a flash of the other theme. A file of its own because the
// service's content security policy refuses inline scripts.
try {
  const theme = localStorage.getItem('stackquay.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage may be closed to us; the system's theme is right then.
}

export type Theme = 'system' | 'light' | 'dark'

const key = 'stackquay.theme'
const listeners = new Set<() => void>()

export const themeNow = {
  read: (): Theme => {
    const theme = document.documentElement.dataset.theme
    return theme === 'light' || theme === 'dark' ? theme : 'system'
  },
  subscribe: (listener: () => void) => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  },
}

/** Kept in the browser; `public/theme.js` reads it before the first paint. */
export function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    if (theme === 'system') localStorage.removeItem(key)
    else localStorage.setItem(key, theme)
  } catch {
    // Storage may be closed to us: then the choice holds for this visit.
  }
  for (const listener of listeners) listener()
}

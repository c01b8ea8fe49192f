import { useEffect, useState } from 'react'

/** Reads tokens as colours for what draws by itself. light-dark() is resolved by a real property, not by reading the variable. */
export function colourReader(element: HTMLElement): { colour: (token: string) => string; done: () => void } {
  const probe = document.createElement('span')
  element.append(probe)
  return {
    colour: (token) => {
      probe.style.color = `var(${token})`
      return getComputedStyle(probe).color
    },
    done: () => probe.remove(),
  }
}

/** A number that grows whenever the page turns light or dark: canvases do not follow by themselves. */
export function useThemeChange(): number {
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const changed = () => setTurn((value) => value + 1)
    const system = matchMedia('(prefers-color-scheme: dark)')
    system.addEventListener('change', changed)
    const observer = new MutationObserver(changed)
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      system.removeEventListener('change', changed)
      observer.disconnect()
    }
  }, [])
  return turn
}

import { useMemo } from 'react'
import { encode } from 'uqr'

/** The empty edge around it that readers need (ISO/IEC 18004), in modules. */
const quietZone = 4

/** Dark on white in both themes: many readers do not see the other way round. Drawn here, without another service. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => drawing(text), [text])
  return (
    <svg
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
      className="size-44 shrink-0 rounded-lg border border-line"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}

/** One stroke per run of dark modules in a row. */
function drawing(text: string): { size: number; path: string } {
  const { data, size } = encode(text, { ecc: 'M', border: quietZone })
  const path = data
    .flatMap((row, y) =>
      row.flatMap((dark, x) => {
        if (!dark || row[x - 1] === true) return []
        const end = row.indexOf(false, x)
        return `M${x} ${y}h${(end === -1 ? row.length : end) - x}v1H${x}z`
      }),
    )
    .join('')
  return { size, path }
}

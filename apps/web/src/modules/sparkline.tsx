/** A small line without axes; the number beside it is what is read. Values from 0 to `max`, or to their own highest. */
export function Sparkline({ values, max, className }: { values: readonly number[]; max?: number; className?: string }) {
  const width = 64
  const height = 20
  const shown = values.slice(-40)
  const top = Math.max(max ?? 0, ...shown) || 1
  const step = width / 39
  const from = width - (shown.length - 1) * step
  const points = shown.map(
    (value, index) => `${(from + index * step).toFixed(1)},${(height - 1 - (value / top) * (height - 3)).toFixed(1)}`,
  )
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      aria-hidden="true"
      className={className}
      preserveAspectRatio="none"
    >
      <path d={`M0 ${height - 0.5}H${width}`} stroke="var(--line)" strokeWidth="1" />
      {points.length > 1 && (
        <>
          <polygon
            points={`${from.toFixed(1)},${height} ${points.join(' ')} ${width},${height}`}
            fill="var(--accent-ink)"
            opacity="0.1"
          />
          <polyline
            points={points.join(' ')}
            fill="none"
            stroke="var(--accent-ink)"
            strokeWidth="1.25"
            strokeLinejoin="round"
          />
        </>
      )}
    </svg>
  )
}

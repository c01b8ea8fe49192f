/** The mark: two stacks on a quay. */
export function Mark({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" className={className}>
      <rect width="32" height="32" rx="8" fill="#1d4fd7" />
      <g fill="#fff">
        <rect x="8" y="6" width="7" height="6" rx="1.5" />
        <rect x="8" y="13.5" width="7" height="6" rx="1.5" opacity=".85" />
        <rect x="16.5" y="13.5" width="7" height="6" rx="1.5" opacity=".6" />
        <path d="M5 22h22v2.5H5zM8 24.5h2.5V28H8zM21.5 24.5H24V28h-2.5z" />
      </g>
    </svg>
  )
}

/** Names of variables that programs receive. Never their values: those may be secret. */
export function VariableNames({ label, names }: { label: string; names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <div className="flex flex-wrap items-baseline gap-x-2 gap-y-1.5">
      <span className="text-sm text-ink-3">{label}</span>
      <ul aria-label={label} className="flex min-w-0 flex-wrap gap-1.5">
        {names.map((name) => (
          <li key={name} className="max-w-full rounded-md border border-line bg-sunken px-1.5 text-sm break-all">
            <code>{name}</code>
          </li>
        ))}
      </ul>
    </div>
  )
}
